-- +goose Up
-- One row for each attempt that did not end well, and for the latest ones that did not fail: the last four causes.
CREATE TABLE sqluice_job_errors (
    id         INTEGER PRIMARY KEY
               CONSTRAINT sqluice_job_errors_id_is_from_1_to_9007199254740991 CHECK (id BETWEEN 1 AND 9007199254740991),
    job_id     INTEGER NOT NULL CHECK (job_id BETWEEN 1 AND 9007199254740991),
    attempt    INTEGER NOT NULL CHECK (attempt BETWEEN 0 AND 1000000000),
    worker_id  INTEGER CHECK (worker_id BETWEEN 1 AND 9007199254740991),
    started_at INTEGER
               CONSTRAINT started_at_is_in_unix_microseconds
               CHECK (started_at BETWEEN 100000000000000 AND 253402300799999999 OR started_at = 0),
    ended_at   INTEGER NOT NULL
               CONSTRAINT ended_at_is_in_unix_microseconds CHECK (ended_at BETWEEN 100000000000000 AND 253402300799999999 OR ended_at = 0),
    cause      TEXT    NOT NULL
               CHECK (cause IN ('error', 'panic', 'timeout', 'decode', 'crash', 'lost', 'expired',
                                'snoozed', 'released', 'cancelled', 'unable')),
    message    TEXT    NOT NULL CHECK (instr(message, char(0)) = 0 AND length(CAST(message AS BLOB)) <= 1048576),
    stack      TEXT    NOT NULL DEFAULT '' CHECK (instr(stack, char(0)) = 0 AND length(CAST(stack AS BLOB)) <= 1048576)
) STRICT;

CREATE INDEX sqluice_job_errors_job ON sqluice_job_errors (job_id, attempt);

-- In place of a foreign key, which costs every update of jobs an eighth and is off in other programs by default.
-- +goose StatementBegin
CREATE TRIGGER sqluice_jobs_delete_errors AFTER DELETE ON sqluice_jobs
BEGIN
    DELETE FROM sqluice_job_errors WHERE job_id = OLD.id;
END;
-- +goose StatementEnd

-- +goose Down
DROP TRIGGER sqluice_jobs_delete_errors;
DROP TABLE sqluice_job_errors;
