-- +goose Up
ALTER TABLE jobs ADD COLUMN max_attempts INTEGER NOT NULL DEFAULT 25 CHECK (max_attempts BETWEEN 1 AND 32767);
-- Microseconds; 0 means the kind's own timeout.
ALTER TABLE jobs ADD COLUMN timeout INTEGER NOT NULL DEFAULT 0 CHECK (timeout >= 0);
ALTER TABLE jobs ADD COLUMN last_error TEXT;

-- One row for every attempt that did not end well.
CREATE TABLE job_errors (
    id         INTEGER PRIMARY KEY,
    job_id     INTEGER NOT NULL,
    attempt    INTEGER NOT NULL,
    worker_id  INTEGER,
    started_at INTEGER,
    ended_at   INTEGER NOT NULL,
    cause      TEXT    NOT NULL CHECK (cause IN ('error', 'panic', 'timeout', 'crash', 'lost')),
    message    TEXT    NOT NULL,
    stack      TEXT    NOT NULL DEFAULT ''
) STRICT;

CREATE INDEX job_errors_job ON job_errors (job_id, attempt);

-- In place of a foreign key, which costs every update of jobs an eighth and is off in other programs by default.
-- +goose StatementBegin
CREATE TRIGGER jobs_delete_errors AFTER DELETE ON jobs
BEGIN
    DELETE FROM job_errors WHERE job_id = OLD.id;
END;
-- +goose StatementEnd

-- +goose Down
DROP TRIGGER jobs_delete_errors;
DROP TABLE job_errors;
ALTER TABLE jobs DROP COLUMN last_error;
ALTER TABLE jobs DROP COLUMN timeout;
ALTER TABLE jobs DROP COLUMN max_attempts;
