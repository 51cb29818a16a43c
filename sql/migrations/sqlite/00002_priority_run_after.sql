-- +goose Up
-- SQLite cannot add a column whose default is an expression, nor widen a CHECK, so the table is made anew.
-- AUTOINCREMENT's high-water mark moves along: an id is never given twice.
CREATE TABLE jobs_new (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    kind        TEXT    NOT NULL CHECK (length(kind) BETWEEN 1 AND 200),
    payload     TEXT    NOT NULL DEFAULT '{}' CHECK (json_valid(payload)),
    status      TEXT    NOT NULL DEFAULT 'pending'
                CHECK (status = 'pending' OR status = 'running' OR status = 'done'
                       OR status = 'scheduled' OR status = 'failed' OR status = 'cancelled'),
    attempt     INTEGER NOT NULL DEFAULT 0 CHECK (attempt >= 0),
    created_at  INTEGER NOT NULL DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000),
    updated_at  INTEGER NOT NULL DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000),
    started_at  INTEGER,
    finished_at INTEGER,
    -- Higher runs first.
    priority    INTEGER NOT NULL DEFAULT 0 CHECK (priority BETWEEN -32768 AND 32767),
    -- Not before this time; up to the end of the year 9999.
    run_after   INTEGER NOT NULL DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000)
                CHECK (run_after BETWEEN 0 AND 253402300799999999)
) STRICT;

INSERT INTO sqlite_sequence (name, seq) SELECT 'jobs_new', seq FROM sqlite_sequence WHERE name = 'jobs';
INSERT INTO jobs_new (id, kind, payload, status, attempt, created_at, updated_at, started_at, finished_at, run_after)
SELECT id, kind, payload, status, attempt, created_at, updated_at, started_at, finished_at, created_at FROM jobs;
DROP TABLE jobs;
ALTER TABLE jobs_new RENAME TO jobs;

CREATE INDEX jobs_claim ON jobs (priority DESC, run_after, id) WHERE status = 'pending';
CREATE INDEX jobs_due ON jobs (run_after) WHERE status = 'scheduled';

-- A plain INSERT with a run_after in the future must not run early, nor stand in the way of due work.
-- The first comparison spares the library's own inserts the look at the clock.
-- +goose StatementBegin
CREATE TRIGGER jobs_not_due AFTER INSERT ON jobs
WHEN NEW.status = 'pending' AND NEW.run_after > NEW.created_at
    AND NEW.run_after > CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000
BEGIN
    UPDATE jobs SET status = 'scheduled' WHERE id = NEW.id;
END;
-- +goose StatementEnd

-- +goose Down
DROP TRIGGER jobs_not_due;
CREATE TABLE jobs_old (
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

INSERT INTO sqlite_sequence (name, seq) SELECT 'jobs_old', seq FROM sqlite_sequence WHERE name = 'jobs';
INSERT INTO jobs_old (id, kind, payload, status, attempt, created_at, updated_at, started_at, finished_at)
SELECT id, kind, payload, CASE status WHEN 'scheduled' THEN 'pending' ELSE status END,
       attempt, created_at, updated_at, started_at, finished_at FROM jobs;
DROP TABLE jobs;
ALTER TABLE jobs_old RENAME TO jobs;

CREATE INDEX jobs_claim ON jobs (id) WHERE status = 'pending';
