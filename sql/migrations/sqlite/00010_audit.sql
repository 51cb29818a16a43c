-- +goose Up
-- What people changed: a row for each transaction with such a change, written in that transaction. A change of one job
-- names it in job_id; one of many lists them in job_ids, and jobs is how many.
CREATE TABLE sqluice_job_audit (
    id      INTEGER PRIMARY KEY
            CONSTRAINT sqluice_job_audit_id_is_from_1_to_9007199254740991 CHECK (id BETWEEN 1 AND 9007199254740991),
    at      INTEGER NOT NULL CONSTRAINT at_is_in_unix_microseconds CHECK (at BETWEEN 100000000000000 AND 253402300799999999 OR at = 0),
    actor   TEXT    NOT NULL
            CHECK (length(actor) BETWEEN 1 AND 200 AND instr(actor, char(0)) = 0),
    action  TEXT    NOT NULL
            CHECK (length(action) BETWEEN 1 AND 200 AND instr(action, char(0)) = 0),
    job_id  INTEGER CHECK (job_id BETWEEN 1 AND 9007199254740991),
    kind    TEXT
            CHECK (length(kind) BETWEEN 1 AND 200 AND instr(kind, char(0)) = 0),
    queue   TEXT
            CHECK (length(queue) BETWEEN 1 AND 200 AND instr(queue, char(0)) = 0),
    jobs    INTEGER NOT NULL CHECK (jobs BETWEEN 0 AND 1000000000000),
    -- Numbers of at most 19 digits.
    job_ids TEXT
            CHECK (job_ids IS NULL OR json_valid(job_ids) AND instr(job_ids, char(0)) = 0 AND length(CAST(job_ids AS BLOB)) <= 1048576
                   AND json_type(job_ids) = 'array' AND substr(job_ids, 2) NOT GLOB '*[^]0-9,]*'
                   AND job_ids NOT GLOB '*' || replace(printf('%20s', ''), ' ', '[0-9]') || '*'),
    detail  TEXT
            CHECK (detail IS NULL OR json_valid(detail) AND instr(detail, char(0)) = 0 AND length(CAST(detail AS BLOB)) <= 1048576)
) STRICT;

CREATE INDEX sqluice_job_audit_at ON sqluice_job_audit (at);
CREATE INDEX sqluice_job_audit_job ON sqluice_job_audit (job_id) WHERE job_id IS NOT NULL;
CREATE INDEX sqluice_job_audit_many ON sqluice_job_audit (id) WHERE job_ids IS NOT NULL;

-- +goose Down
DROP TABLE sqluice_job_audit;
