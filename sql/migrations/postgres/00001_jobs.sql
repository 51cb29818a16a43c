-- +goose Up
-- One row is one job. Times are unix microseconds, UTC.
-- A plain INSERT INTO jobs (kind, payload) VALUES (...) from any language is a good job.
CREATE TABLE jobs (
    id          BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind        TEXT   NOT NULL CHECK (length(kind) BETWEEN 1 AND 200),
    payload     TEXT   NOT NULL DEFAULT '{}' CHECK (CAST(payload AS json) IS NOT NULL),
    status      TEXT   NOT NULL DEFAULT 'pending'
                CONSTRAINT jobs_status_check CHECK (status = 'pending' OR status = 'running' OR status = 'done'
                       OR status = 'failed' OR status = 'cancelled'),
    attempt     BIGINT NOT NULL DEFAULT 0 CHECK (attempt >= 0),
    created_at  BIGINT NOT NULL DEFAULT (CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)),
    updated_at  BIGINT NOT NULL DEFAULT (CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)),
    started_at  BIGINT,
    finished_at BIGINT
);

CREATE INDEX jobs_claim ON jobs (id) WHERE status = 'pending';

-- +goose Down
DROP TABLE jobs;
