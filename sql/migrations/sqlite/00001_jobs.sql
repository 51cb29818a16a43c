-- +goose Up
-- One row is one job. Times are unix microseconds, UTC.
-- The status check is a chain of ORs because SQLite runs it a third faster than IN (...): see docs/decisions.
-- The default times are in milliseconds, by functions that SQLite has had for long: other programs bring their own.
-- A plain INSERT INTO jobs (kind, payload) VALUES (...) from any language is a good job.
CREATE TABLE jobs (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    kind        TEXT    NOT NULL CHECK (length(kind) BETWEEN 1 AND 200),
    payload     TEXT    NOT NULL DEFAULT '{}' CHECK (json_valid(payload)),
    status      TEXT    NOT NULL DEFAULT 'pending'
                CHECK (status = 'pending' OR status = 'running' OR status = 'done'
                       OR status = 'failed' OR status = 'cancelled'),
    attempt     INTEGER NOT NULL DEFAULT 0 CHECK (attempt >= 0),
    created_at  INTEGER NOT NULL DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000),
    updated_at  INTEGER NOT NULL DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000),
    started_at  INTEGER,
    finished_at INTEGER
) STRICT;

CREATE INDEX jobs_claim ON jobs (id) WHERE status = 'pending';

-- +goose Down
DROP TABLE jobs;
