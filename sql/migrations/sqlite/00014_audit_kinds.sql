-- +goose Up
-- What people changed, a row for each transaction in which somebody did: written in that transaction. A change of one job
-- names it in job_id; one of many lists them in job_ids, and jobs is how many.
CREATE TABLE job_audit (
    id      INTEGER PRIMARY KEY,
    at      INTEGER NOT NULL,
    actor   TEXT    NOT NULL CHECK (length(actor) BETWEEN 1 AND 200),
    action  TEXT    NOT NULL CHECK (length(action) BETWEEN 1 AND 200),
    job_id  INTEGER,
    kind    TEXT,
    queue   TEXT,
    jobs    INTEGER NOT NULL CHECK (jobs >= 0),
    job_ids TEXT CHECK (job_ids IS NULL OR json_valid(job_ids)),
    detail  TEXT CHECK (detail IS NULL OR json_valid(detail))
) STRICT;

CREATE INDEX job_audit_at ON job_audit (at);
CREATE INDEX job_audit_job ON job_audit (job_id) WHERE job_id IS NOT NULL;
CREATE INDEX job_audit_many ON job_audit (id) WHERE job_ids IS NOT NULL;

-- What of a kind's jobs nobody but its handler is to see, as paths: 'card.number' of the payload, '*' for all of it. A
-- kind that has no row hides nothing.
CREATE TABLE sensitive_fields (
    kind      TEXT    NOT NULL CHECK (length(kind) BETWEEN 1 AND 200),
    path      TEXT    NOT NULL CHECK (length(path) BETWEEN 1 AND 1000),
    marked_at INTEGER NOT NULL,
    PRIMARY KEY (kind, path)
) STRICT;

-- +goose Down
DROP TABLE sensitive_fields;
DROP TABLE job_audit;
