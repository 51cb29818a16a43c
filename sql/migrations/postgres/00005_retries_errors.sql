-- +goose Up
ALTER TABLE jobs ADD COLUMN max_attempts BIGINT NOT NULL DEFAULT 25 CHECK (max_attempts BETWEEN 1 AND 32767);
-- Microseconds; 0 means the kind's own timeout.
ALTER TABLE jobs ADD COLUMN timeout BIGINT NOT NULL DEFAULT 0 CHECK (timeout >= 0);
ALTER TABLE jobs ADD COLUMN last_error TEXT;

-- One row for every attempt that did not end well.
CREATE TABLE job_errors (
    id         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job_id     BIGINT NOT NULL CHECK (job_id BETWEEN 1 AND 9007199254740991) REFERENCES jobs (id) ON DELETE CASCADE,
    attempt    BIGINT NOT NULL CHECK (attempt BETWEEN 0 AND 1000000000),
    worker_id  BIGINT CHECK (worker_id BETWEEN 1 AND 9007199254740991),
    started_at BIGINT CHECK (started_at BETWEEN 0 AND 253402300799999999),
    ended_at   BIGINT NOT NULL CHECK (ended_at BETWEEN 0 AND 253402300799999999),
    cause      TEXT    NOT NULL CHECK (cause IN ('error', 'panic', 'timeout', 'crash', 'lost')),
    message    TEXT    NOT NULL CHECK (octet_length(message) <= 1048576),
    stack      TEXT    NOT NULL DEFAULT '' CHECK (octet_length(stack) <= 1048576)
);

CREATE INDEX job_errors_job ON job_errors (job_id, attempt);

-- +goose Down
DROP TABLE job_errors;
ALTER TABLE jobs DROP COLUMN last_error;
ALTER TABLE jobs DROP COLUMN timeout;
ALTER TABLE jobs DROP COLUMN max_attempts;
