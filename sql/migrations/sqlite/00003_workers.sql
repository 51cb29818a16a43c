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
        'sqluice_workers', 'sqluice_workers_live', 'sqluice_workers_ended', 'sqluice_workers_new_id',
        'sqluice_workers_keep_id', 'sqluice_jobs_running'
    ) ORDER BY s.name
) AS n) AS t WHERE t.names IS NOT NULL;
DROP TABLE sqluice_taken;

-- Which worker runs a job, and until when. A worker is one running Runner. The row of a worker that ended stays for
-- a while, so that a job's history can name it. A process that can take the lock called lock_key knows that the worker is gone.
CREATE TABLE sqluice_workers (
    id           INTEGER PRIMARY KEY AUTOINCREMENT CHECK (id BETWEEN 1 AND 9007199254740991),
    name         TEXT    NOT NULL
                 CHECK (length(name) BETWEEN 1 AND 200 AND instr(name, char(0)) = 0
                        AND name NOT GLOB '*[^ -~' || char(160, 45, 1114111) || ']*'),
    lock_key     TEXT    NOT NULL
                 CHECK (length(lock_key) <= 200 AND instr(lock_key, char(0)) = 0 AND lock_key NOT GLOB '*[^0-9A-Za-z-]*'),
    host         TEXT    NOT NULL CHECK (instr(host, char(0)) = 0 AND length(CAST(host AS BLOB)) <= 1048576),
    pid          INTEGER NOT NULL CHECK (pid BETWEEN 0 AND 4294967295),
    version      TEXT    NOT NULL CHECK (instr(version, char(0)) = 0 AND length(CAST(version AS BLOB)) <= 1048576),
    queues       TEXT    NOT NULL
                 CHECK (json_valid(queues) AND instr(queues, char(0)) = 0 AND length(CAST(queues AS BLOB)) <= 1048576 AND json_type(queues) = 'object'),
    kinds        TEXT    NOT NULL
                 CHECK (json_valid(kinds) AND instr(kinds, char(0)) = 0 AND length(CAST(kinds AS BLOB)) <= 1048576 AND json_type(kinds) = 'array'),
    started_at   INTEGER NOT NULL CONSTRAINT started_at_is_in_unix_microseconds CHECK (started_at BETWEEN 100000000000000 AND 253402300799999999 OR started_at = 0),
    heartbeat_at INTEGER NOT NULL CONSTRAINT heartbeat_at_is_in_unix_microseconds CHECK (heartbeat_at BETWEEN 100000000000000 AND 253402300799999999 OR heartbeat_at = 0),
    lease_until  INTEGER NOT NULL CONSTRAINT lease_until_is_in_unix_microseconds CHECK (lease_until BETWEEN 100000000000000 AND 253402300799999999 OR lease_until = 0),
    ended_at     INTEGER CONSTRAINT ended_at_is_in_unix_microseconds CHECK (ended_at BETWEEN 100000000000000 AND 253402300799999999 OR ended_at = 0),
    end_reason   TEXT CHECK (end_reason IN ('stopped', 'crash', 'lost'))
) STRICT;

CREATE UNIQUE INDEX sqluice_workers_live ON sqluice_workers (name) WHERE ended_at IS NULL;
CREATE INDEX sqluice_workers_ended ON sqluice_workers (ended_at) WHERE ended_at IS NOT NULL;

-- +goose StatementBegin
CREATE TRIGGER sqluice_workers_new_id AFTER INSERT ON sqluice_workers
WHEN NEW.id > 4503599627370496
BEGIN
    SELECT RAISE(ABORT, 'a new id above 4503599627370496 comes from the database alone: leave the id out')
    WHERE NEW.id > 1000000 + COALESCE((SELECT MAX(seq) FROM sqlite_sequence WHERE name = 'sqluice_workers'), 0);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER sqluice_workers_keep_id BEFORE UPDATE OF id ON sqluice_workers WHEN NEW.id <> OLD.id
BEGIN
    SELECT RAISE(ABORT, 'an id never changes');
END;
-- +goose StatementEnd

-- attempt counts every claim and is the fence. uncounted are the claims among them that do not count
-- against max_attempts: snoozed and released ones. crashes are those in which the process died.
ALTER TABLE sqluice_jobs ADD COLUMN worker_id INTEGER CHECK (worker_id BETWEEN 1 AND 9007199254740991);
ALTER TABLE sqluice_jobs ADD COLUMN lease_until INTEGER CONSTRAINT lease_until_is_in_unix_microseconds CHECK (lease_until BETWEEN 100000000000000 AND 253402300799999999 OR lease_until = 0);
ALTER TABLE sqluice_jobs ADD COLUMN crashes INTEGER NOT NULL DEFAULT 0 CHECK (crashes BETWEEN 0 AND 1000000000);
ALTER TABLE sqluice_jobs ADD COLUMN uncounted INTEGER NOT NULL DEFAULT 0 CHECK (uncounted BETWEEN 0 AND 1000000000);
ALTER TABLE sqluice_jobs ADD COLUMN cancel_requested_at INTEGER CONSTRAINT cancel_requested_at_is_in_unix_microseconds CHECK (cancel_requested_at BETWEEN 100000000000000 AND 253402300799999999 OR cancel_requested_at = 0);

CREATE INDEX sqluice_jobs_running ON sqluice_jobs (worker_id) WHERE status = 'running' AND finished_at IS NULL;

-- +goose Down
DROP INDEX sqluice_jobs_running;
ALTER TABLE sqluice_jobs DROP COLUMN cancel_requested_at;
ALTER TABLE sqluice_jobs DROP COLUMN uncounted;
ALTER TABLE sqluice_jobs DROP COLUMN crashes;
ALTER TABLE sqluice_jobs DROP COLUMN lease_until;
ALTER TABLE sqluice_jobs DROP COLUMN worker_id;
DROP TABLE sqluice_workers;
