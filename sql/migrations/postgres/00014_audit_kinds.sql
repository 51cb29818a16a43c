-- +goose Up
-- What people changed, a row for each transaction in which somebody did: written in that transaction. A change of one job
-- names it in job_id; one of many lists them in job_ids, and jobs is how many.
CREATE TABLE job_audit (
    id      BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at      BIGINT NOT NULL CHECK (at BETWEEN 0 AND 253402300799999999),
    actor   TEXT   NOT NULL CHECK (length(actor) BETWEEN 1 AND 200 AND actor !~ '[\u0001-\u001f\u007f-\u009f]'),
    action  TEXT   NOT NULL CHECK (length(action) BETWEEN 1 AND 200 AND action !~ '[\u0001-\u001f\u007f-\u009f]'),
    job_id  BIGINT CHECK (job_id BETWEEN 1 AND 9007199254740991),
    kind    TEXT CHECK (length(kind) BETWEEN 1 AND 200 AND kind !~ '[\u0001-\u001f\u007f-\u009f]'),
    queue   TEXT CHECK (length(queue) BETWEEN 1 AND 200 AND queue !~ '[\u0001-\u001f\u007f-\u009f]'),
    jobs    BIGINT NOT NULL CHECK (jobs BETWEEN 0 AND 1000000000000),
    job_ids TEXT CHECK (job_ids IS NULL OR CAST(job_ids AS json) IS NOT NULL AND octet_length(job_ids) <= 1048576 AND job_ids ~ '^\[([0-9]{1,19}(,[0-9]{1,19})*)?\]$'),
    detail  TEXT CHECK (detail IS NULL OR CAST(detail AS json) IS NOT NULL AND octet_length(detail) <= 1048576)
);

CREATE INDEX job_audit_at ON job_audit (at);
CREATE INDEX job_audit_job ON job_audit (job_id) WHERE job_id IS NOT NULL;
CREATE INDEX job_audit_many ON job_audit (id) WHERE job_ids IS NOT NULL;

-- What of a kind's jobs nobody but its handler is to see, as paths: 'card.number' of the payload, '*' for all of it. A
-- kind that has no row hides nothing.
CREATE TABLE sensitive_fields (
    kind      TEXT   NOT NULL CHECK (length(kind) BETWEEN 1 AND 200 AND kind !~ '[\u0001-\u001f\u007f-\u009f]'),
    path      TEXT   NOT NULL CHECK (length(path) BETWEEN 1 AND 1000 AND path !~ '[\u0001-\u001f\u007f-\u009f]'),
    marked_at BIGINT NOT NULL CHECK (marked_at BETWEEN 0 AND 253402300799999999),
    PRIMARY KEY (kind, path)
);

-- +goose Down
DROP TABLE sensitive_fields;
DROP TABLE job_audit;
