-- +goose Up
-- Names that begin with sqluice_ belong to the queue. The migrations begin only where none of them is taken, except for goose's own
-- table, and otherwise refuse with the list of what is in the way.
CREATE TEMP TABLE sqluice_taken (names TEXT);
-- +goose StatementBegin
CREATE TEMP TRIGGER sqluice_taken_names BEFORE INSERT ON sqluice_taken
BEGIN
    SELECT RAISE(ABORT, 'the database has these names already, of an application or of another build of sqluice: ' || NEW.names);
END;
-- +goose StatementEnd
INSERT INTO sqluice_taken (names)
SELECT t.names FROM (SELECT group_concat(n.name, ', ') AS names FROM (
    SELECT s.name FROM main.sqlite_schema AS s WHERE s.name LIKE 'sqluice!_%' ESCAPE '!' AND s.tbl_name <> 'sqluice_migrations'
    ORDER BY s.name
) AS n) AS t WHERE t.names IS NOT NULL;
DROP TABLE sqluice_taken;

-- One row is one job. INSERT INTO sqluice_jobs (kind, payload) VALUES ('resize', '{"file": "a.png"}') adds one.
-- Times are in unix microseconds, UTC.
CREATE TABLE sqluice_jobs (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    kind        TEXT    NOT NULL,                  -- the name of the handler
    payload     TEXT    NOT NULL DEFAULT '{}',     -- the input of the handler, in JSON
    status      TEXT    NOT NULL DEFAULT 'pending' -- then running, then done, failed or cancelled
                CHECK (status IN ('scheduled', 'pending', 'running', 'done', 'failed', 'cancelled')),
    attempt     INTEGER NOT NULL DEFAULT 0,        -- how often it was claimed
    created_at  INTEGER NOT NULL DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000),
    updated_at  INTEGER NOT NULL DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000),
    started_at  INTEGER,
    finished_at INTEGER
) STRICT;

CREATE INDEX sqluice_jobs_claim ON sqluice_jobs (id) WHERE status = 'pending';

-- +goose Down
DROP TABLE sqluice_jobs;
