-- +goose Up
-- Names that begin with sqluice_ are the queue's: none may be there yet, but for goose's own table.
CREATE TEMP TABLE sqluice_taken (names TEXT);
-- +goose StatementBegin
CREATE TEMP TRIGGER sqluice_taken_names BEFORE INSERT ON sqluice_taken
BEGIN
    SELECT RAISE(ABORT, 'the database has these names already, of an application or of another build of sqluice: ' || NEW.names);
END;
-- +goose StatementEnd
INSERT INTO sqluice_taken (names)
SELECT t.names FROM (SELECT group_concat(n.name, ', ') AS names FROM (
    SELECT s.name FROM main.sqlite_schema AS s WHERE s.name LIKE 'sqluice!_%' ESCAPE '!' AND s.tbl_name <> 'sqluice_goose_version'
    ORDER BY s.name
) AS n) AS t WHERE t.names IS NOT NULL;
DROP TABLE sqluice_taken;

-- One row is one job. Times are unix microseconds, UTC.
-- A plain INSERT INTO sqluice_jobs (kind, payload) VALUES (...) from any language is a good job: what the library refuses,
-- the CHECKs refuse. Names have no control characters; texts have no NUL and at most 1 MiB.
-- The status check is a chain of ORs because SQLite runs it a third faster than IN (...): see docs/decisions.
-- The default times are in milliseconds, by functions that old versions of SQLite have: other programs bring their own.
CREATE TABLE sqluice_jobs (
    id          INTEGER PRIMARY KEY AUTOINCREMENT CHECK (id BETWEEN 1 AND 9007199254740991),
    kind        TEXT    NOT NULL
                CHECK (length(kind) BETWEEN 1 AND 200 AND instr(kind, char(0)) = 0
                       AND kind NOT GLOB '*[^ -~' || char(160, 45, 1114111) || ']*'),
    payload     TEXT    NOT NULL DEFAULT '{}'
                CHECK (json_valid(payload) AND instr(payload, char(0)) = 0 AND (length(CAST(payload AS BLOB)) <= 1048576
                    OR substr(payload, 1, 19) = '"sqluice:encrypted:' AND length(CAST(payload AS BLOB)) <= 1572864)),
    status      TEXT    NOT NULL DEFAULT 'pending'
                CHECK (status = 'pending' OR status = 'running' OR status = 'done'
                       OR status = 'failed' OR status = 'cancelled'),
    attempt     INTEGER NOT NULL DEFAULT 0 CHECK (attempt BETWEEN 0 AND 1000000000),
    created_at  INTEGER NOT NULL DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000)
                CONSTRAINT created_at_is_in_unix_microseconds CHECK (created_at BETWEEN 100000000000000 AND 253402300799999999 OR created_at = 0),
    updated_at  INTEGER NOT NULL DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000)
                CONSTRAINT updated_at_is_in_unix_microseconds CHECK (updated_at BETWEEN 100000000000000 AND 253402300799999999 OR updated_at = 0),
    started_at  INTEGER CONSTRAINT started_at_is_in_unix_microseconds CHECK (started_at BETWEEN 100000000000000 AND 253402300799999999 OR started_at = 0),
    finished_at INTEGER CONSTRAINT finished_at_is_in_unix_microseconds CHECK (finished_at BETWEEN 100000000000000 AND 253402300799999999 OR finished_at = 0)
) STRICT;

CREATE INDEX sqluice_jobs_claim ON sqluice_jobs (id) WHERE status = 'pending';

-- +goose Down
DROP TABLE sqluice_jobs;
