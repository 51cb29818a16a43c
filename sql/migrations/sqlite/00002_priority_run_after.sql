-- +goose Up
-- The names that this migration makes must be free.
CREATE TEMP TABLE sqluice_taken (names TEXT);
-- +goose StatementBegin
CREATE TEMP TRIGGER sqluice_taken_names BEFORE INSERT ON sqluice_taken
BEGIN
    SELECT RAISE(ABORT, 'the database has these names already, of an application or of another build of sqluice: ' || NEW.names);
END;
-- +goose StatementEnd
INSERT INTO sqluice_taken (names)
SELECT t.names FROM (SELECT group_concat(n.name, ', ') AS names FROM (
    SELECT s.name FROM main.sqlite_schema AS s WHERE lower(s.name) IN (
        'sqluice_jobs_new', 'sqluice_jobs_due', 'sqluice_jobs_deleted', 'sqluice_jobs_new_id', 'sqluice_jobs_keep_id',
        'sqluice_jobs_keep_last'
    ) ORDER BY s.name
) AS n) AS t WHERE t.names IS NOT NULL;
DROP TABLE sqluice_taken;

-- Which job runs first, and not before which time. A job whose time has not come is scheduled. So is a new job by default: a
-- worker makes it pending before its next claim, when it is due.
-- SQLite cannot add a column whose default is an expression, nor widen a CHECK, so the table is made anew.
-- It has no AUTOINCREMENT, whose counter is a page more in each commit. An id is never given twice all the same: SQLite gives a new
-- row the largest id and one, and where the newest row is deleted, one of the status 'deleted' stays in its place.
CREATE TABLE sqluice_jobs_new (
    id          INTEGER PRIMARY KEY CHECK (id BETWEEN 1 AND 9007199254740991),
    kind        TEXT    NOT NULL
                CHECK (length(kind) BETWEEN 1 AND 200 AND instr(kind, char(0)) = 0
                       AND kind NOT GLOB '*[^ -~' || char(160, 45, 1114111) || ']*'),
    payload     TEXT    NOT NULL DEFAULT '{}'
                CHECK (json_valid(payload) AND instr(payload, char(0)) = 0 AND (length(CAST(payload AS BLOB)) <= 1048576
                    OR substr(payload, 1, 19) = '"sqluice:encrypted:' AND length(CAST(payload AS BLOB)) <= 1572864)),
    status      TEXT    NOT NULL DEFAULT 'scheduled'
                CHECK (status = 'pending' OR status = 'running' OR status = 'done'
                       OR status = 'scheduled' OR status = 'failed' OR status = 'cancelled' OR status = 'deleted'),
    attempt     INTEGER NOT NULL DEFAULT 0 CHECK (attempt BETWEEN 0 AND 1000000000),
    created_at  INTEGER NOT NULL DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000)
                CONSTRAINT created_at_is_in_unix_microseconds CHECK (created_at BETWEEN 100000000000000 AND 253402300799999999 OR created_at = 0),
    updated_at  INTEGER NOT NULL DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000)
                CONSTRAINT updated_at_is_in_unix_microseconds CHECK (updated_at BETWEEN 100000000000000 AND 253402300799999999 OR updated_at = 0),
    started_at  INTEGER CONSTRAINT started_at_is_in_unix_microseconds CHECK (started_at BETWEEN 100000000000000 AND 253402300799999999 OR started_at = 0),
    finished_at INTEGER CONSTRAINT finished_at_is_in_unix_microseconds CHECK (finished_at BETWEEN 100000000000000 AND 253402300799999999 OR finished_at = 0),
    -- Higher runs first.
    priority    INTEGER NOT NULL DEFAULT 0 CHECK (priority BETWEEN -32768 AND 32767),
    -- Not before this time; 0 for at once, or from March 1973, which milliseconds do not reach, to the end of the year 9999.
    run_after   INTEGER NOT NULL DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000)
                CONSTRAINT run_after_is_in_unix_microseconds
                CHECK (run_after BETWEEN 100000000000000 AND 253402300799999999 OR run_after = 0)
) STRICT;

INSERT INTO sqluice_jobs_new (id, kind, payload, status, attempt, created_at, updated_at, started_at, finished_at, run_after)
SELECT id, kind, payload, status, attempt, created_at, updated_at, started_at, finished_at,
       created_at FROM sqluice_jobs;
INSERT INTO sqluice_jobs_new (id, kind, status, created_at, updated_at, run_after)
SELECT s.seq + 1, 'deleted', 'deleted', 0, 0, 0 FROM sqlite_sequence AS s
WHERE s.name = 'sqluice_jobs' AND s.seq > (SELECT COALESCE(MAX(j.id), 0) FROM sqluice_jobs AS j);
DROP TABLE sqluice_jobs;
ALTER TABLE sqluice_jobs_new RENAME TO sqluice_jobs;

CREATE INDEX sqluice_jobs_claim ON sqluice_jobs (priority DESC, run_after, id) WHERE status = 'pending';
CREATE INDEX sqluice_jobs_due ON sqluice_jobs (run_after) WHERE status = 'scheduled';
CREATE INDEX sqluice_jobs_deleted ON sqluice_jobs (id) WHERE status = 'deleted';

-- Refuses an id after which there would soon be none left.
-- +goose StatementBegin
CREATE TRIGGER sqluice_jobs_new_id AFTER INSERT ON sqluice_jobs
WHEN NEW.id > 4503599627370496 AND NEW.status <> 'deleted'
BEGIN
    SELECT RAISE(ABORT, 'a new id above 4503599627370496 comes from the database alone: leave the id out')
    WHERE NEW.id > 1000000 + COALESCE((SELECT MAX(id) FROM sqluice_jobs WHERE id < NEW.id), 0);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER sqluice_jobs_keep_id BEFORE UPDATE OF id ON sqluice_jobs WHEN NEW.id <> OLD.id
BEGIN
    SELECT RAISE(ABORT, 'an id never changes');
END;
-- +goose StatementEnd

-- The place of the newest row, when that is deleted: the row after it, so that nothing that refers to the job finds another.
-- +goose StatementBegin
CREATE TRIGGER sqluice_jobs_keep_last AFTER DELETE ON sqluice_jobs
WHEN OLD.id > (SELECT COALESCE(MAX(id), 0) FROM sqluice_jobs)
BEGIN
    DELETE FROM sqluice_jobs WHERE status = 'deleted';
    INSERT INTO sqluice_jobs (id, kind, status, created_at, updated_at, run_after)
    VALUES (min(OLD.id + (OLD.status <> 'deleted'), 9007199254740991), 'deleted', 'deleted', 0, 0, 0);
END;
-- +goose StatementEnd

-- +goose Down
DROP TRIGGER sqluice_jobs_keep_last;
DROP TRIGGER sqluice_jobs_keep_id;
DROP TRIGGER sqluice_jobs_new_id;
CREATE TABLE sqluice_jobs_old (
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

INSERT INTO sqlite_sequence (name, seq) SELECT 'sqluice_jobs_old', MAX(id) FROM sqluice_jobs HAVING MAX(id) IS NOT NULL;
INSERT INTO sqluice_jobs_old (id, kind, payload, status, attempt, created_at, updated_at, started_at, finished_at)
SELECT id, kind, payload, CASE status WHEN 'scheduled' THEN 'pending' ELSE status END,
       attempt, created_at, updated_at, started_at, finished_at FROM sqluice_jobs WHERE status <> 'deleted';
DROP TABLE sqluice_jobs;
ALTER TABLE sqluice_jobs_old RENAME TO sqluice_jobs;

CREATE INDEX sqluice_jobs_claim ON sqluice_jobs (id) WHERE status = 'pending';
