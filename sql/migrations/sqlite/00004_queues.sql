-- +goose Up
ALTER TABLE jobs ADD COLUMN queue TEXT NOT NULL DEFAULT 'default' 
    CHECK (length(queue) BETWEEN 1 AND 200 AND instr(queue, char(0)) = 0 AND queue NOT GLOB '*[^ -~' || char(160, 45, 1114111) || ']*');

-- A queue needs no row; a row says that it is paused.
CREATE TABLE queues (
    name       TEXT    NOT NULL PRIMARY KEY CHECK (length(name) BETWEEN 1 AND 200 AND instr(name, char(0)) = 0 AND name NOT GLOB '*[^ -~' || char(160, 45, 1114111) || ']*'),
    paused_at  INTEGER CHECK (paused_at BETWEEN 0 AND 253402300799999999),
    updated_at INTEGER NOT NULL CHECK (updated_at BETWEEN 0 AND 253402300799999999)
) STRICT;

-- kind is in the index, so that rows nobody here can run cost a claim nothing.
DROP INDEX jobs_claim;
CREATE INDEX jobs_claim ON jobs (queue, kind, priority DESC, run_after, id) WHERE status = 'pending';

-- +goose Down
DROP INDEX jobs_claim;
CREATE INDEX jobs_claim ON jobs (priority DESC, run_after, id) WHERE status = 'pending';
DROP TABLE queues;
ALTER TABLE jobs DROP COLUMN queue;
