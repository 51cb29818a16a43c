-- +goose Up
ALTER TABLE jobs ADD COLUMN queue TEXT NOT NULL DEFAULT 'default' CHECK (length(queue) BETWEEN 1 AND 200);

-- A queue needs no row; a row says that it is paused.
CREATE TABLE queues (
    name       TEXT    NOT NULL PRIMARY KEY CHECK (length(name) BETWEEN 1 AND 200 AND name !~ '[\u0001-\u001f\u007f-\u009f]'),
    paused_at  BIGINT CHECK (paused_at BETWEEN 0 AND 253402300799999999),
    updated_at BIGINT NOT NULL CHECK (updated_at BETWEEN 0 AND 253402300799999999)
);

-- kind is in the index, so that rows nobody here can run cost a claim nothing.
DROP INDEX jobs_claim;
CREATE INDEX jobs_claim ON jobs (queue, kind, priority DESC, run_after, id) WHERE status = 'pending';

-- +goose Down
DROP INDEX jobs_claim;
CREATE INDEX jobs_claim ON jobs (priority DESC, run_after, id) WHERE status = 'pending';
DROP TABLE queues;
ALTER TABLE jobs DROP COLUMN queue;
