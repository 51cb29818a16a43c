-- +goose Up
-- One row is one job. Times are unix microseconds, UTC.
-- The status check is a chain of ORs because SQLite runs it a third faster than IN (...): see docs/decisions.
-- The default times are in milliseconds, by functions that SQLite has had for long: other programs bring their own.
-- A plain INSERT INTO jobs (kind, payload) VALUES (...) from any language is a good job.
CREATE TABLE jobs (
    id          INTEGER PRIMARY KEY AUTOINCREMENT CHECK (id BETWEEN 1 AND 9007199254740991),
    kind        TEXT    NOT NULL CHECK (length(kind) BETWEEN 1 AND 200 AND instr(kind, char(0)) = 0 AND kind NOT GLOB '*[^ -~' || char(160, 45, 1114111) || ']*'),
    payload     TEXT    NOT NULL DEFAULT '{}' CHECK (json_valid(payload) AND instr(payload, char(0)) = 0 AND length(CAST(payload AS BLOB)) <= 1048576),
    status      TEXT    NOT NULL DEFAULT 'pending'
                CHECK (status = 'pending' OR status = 'running' OR status = 'done'
                       OR status = 'failed' OR status = 'cancelled'),
    attempt     INTEGER NOT NULL DEFAULT 0 CHECK (attempt BETWEEN 0 AND 1000000000),
    created_at  INTEGER NOT NULL DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000)
                CHECK (created_at BETWEEN 0 AND 253402300799999999),
    updated_at  INTEGER NOT NULL DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000)
                CHECK (updated_at BETWEEN 0 AND 253402300799999999),
    started_at  INTEGER CHECK (started_at BETWEEN 0 AND 253402300799999999),
    finished_at INTEGER CHECK (finished_at BETWEEN 0 AND 253402300799999999)
) STRICT;

CREATE INDEX jobs_claim ON jobs (id) WHERE status = 'pending';

-- +goose Down
DROP TABLE jobs;
