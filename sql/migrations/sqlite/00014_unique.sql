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
        'sqluice_jobs_successor', 'sqluice_unique_keys', 'sqluice_unique_keys_until'
    ) ORDER BY s.name
) AS n) AS t WHERE t.names IS NOT NULL;
DROP TABLE sqluice_taken;

-- A job with a unique key may have one successor, which waits, scheduled, until that job has ended: it has the same key, successor_at
-- is its own run_after, and its run_after is the last time of all meanwhile. A worker then gives it its run_after, and NULL here.
ALTER TABLE sqluice_jobs ADD COLUMN successor_at INTEGER
    CHECK (successor_at IS NULL OR (successor_at BETWEEN 100000000000000 AND 253402300799999999 OR successor_at = 0)
           AND unique_key IS NOT NULL AND status = 'scheduled');

-- At most one other live job of a kind has a unique key, and at most one waits for its end.
DROP INDEX sqluice_jobs_unique;
CREATE UNIQUE INDEX sqluice_jobs_unique ON sqluice_jobs (kind, unique_key)
    WHERE unique_key IS NOT NULL AND successor_at IS NULL AND status IN ('scheduled', 'pending', 'running');
CREATE UNIQUE INDEX sqluice_jobs_successor ON sqluice_jobs (kind, unique_key) WHERE successor_at IS NOT NULL;

-- Unique keys that are taken until a time, whatever becomes of the job that took them.
CREATE TABLE sqluice_unique_keys (
    kind       TEXT    NOT NULL
               CHECK (length(kind) BETWEEN 1 AND 200 AND instr(kind, char(0)) = 0
                      AND kind NOT GLOB '*[^ -~' || char(160, 45, 1114111) || ']*'),
    unique_key TEXT    NOT NULL
               CHECK (length(unique_key) BETWEEN 1 AND 1000 AND instr(unique_key, char(0)) = 0
                      AND unique_key NOT GLOB '*[^ -~' || char(160, 45, 1114111) || ']*'),
    taken_at   INTEGER NOT NULL CONSTRAINT taken_at_is_in_unix_microseconds CHECK (taken_at BETWEEN 100000000000000 AND 253402300799999999 OR taken_at = 0),
    until      INTEGER NOT NULL CONSTRAINT until_is_in_unix_microseconds CHECK (until BETWEEN 100000000000000 AND 253402300799999999 OR until = 0),
    job_id     INTEGER CHECK (job_id BETWEEN 1 AND 9007199254740991),
    PRIMARY KEY (kind, unique_key)
) STRICT;

CREATE INDEX sqluice_unique_keys_until ON sqluice_unique_keys (until);

DROP VIEW sqluice_jobs_readable;
CREATE VIEW sqluice_jobs_readable AS
SELECT id, queue, kind, payload, status, priority,
       strftime('%Y-%m-%dT%H:%M:%S', run_after / 1000000, 'unixepoch') || printf('.%06dZ', run_after % 1000000) AS run_after,
       attempt, uncounted, max_attempts, crashes, worker_id,
       strftime('%Y-%m-%dT%H:%M:%S', lease_until / 1000000, 'unixepoch') || printf('.%06dZ', lease_until % 1000000) AS lease_until,
       timeout, unique_key, request_id, user_id, tags, metadata, progress, result, last_error,
       strftime('%Y-%m-%dT%H:%M:%S', created_at / 1000000, 'unixepoch') || printf('.%06dZ', created_at % 1000000) AS created_at,
       strftime('%Y-%m-%dT%H:%M:%S', started_at / 1000000, 'unixepoch') || printf('.%06dZ', started_at % 1000000) AS started_at,
       strftime('%Y-%m-%dT%H:%M:%S', finished_at / 1000000, 'unixepoch') || printf('.%06dZ', finished_at % 1000000) AS finished_at,
       strftime('%Y-%m-%dT%H:%M:%S', updated_at / 1000000, 'unixepoch') || printf('.%06dZ', updated_at % 1000000) AS updated_at,
       strftime('%Y-%m-%dT%H:%M:%S', cancel_requested_at / 1000000, 'unixepoch') || printf('.%06dZ', cancel_requested_at % 1000000) AS cancel_requested_at,
       strftime('%Y-%m-%dT%H:%M:%S', successor_at / 1000000, 'unixepoch') || printf('.%06dZ', successor_at % 1000000) AS successor_at
FROM sqluice_jobs WHERE status <> 'deleted';

-- +goose Down
DROP VIEW sqluice_jobs_readable;
DROP TABLE sqluice_unique_keys;
DROP INDEX sqluice_jobs_successor;
DROP INDEX sqluice_jobs_unique;
INSERT INTO sqluice_job_changes (at, queue, kind, event, times, jobs) -- for the counts
SELECT MAX(updated_at), queue, kind, 'cancelled', 0, COUNT(*) FROM sqluice_jobs WHERE successor_at IS NOT NULL GROUP BY queue, kind;
UPDATE sqluice_jobs SET status = 'cancelled', finished_at = updated_at, run_after = successor_at, successor_at = NULL WHERE successor_at IS NOT NULL;
ALTER TABLE sqluice_jobs DROP COLUMN successor_at;
CREATE UNIQUE INDEX sqluice_jobs_unique ON sqluice_jobs (kind, unique_key)
    WHERE unique_key IS NOT NULL AND status IN ('scheduled', 'pending', 'running');
CREATE VIEW sqluice_jobs_readable AS
SELECT id, queue, kind, payload, status, priority,
       strftime('%Y-%m-%dT%H:%M:%S', run_after / 1000000, 'unixepoch') || printf('.%06dZ', run_after % 1000000) AS run_after,
       attempt, uncounted, max_attempts, crashes, worker_id,
       strftime('%Y-%m-%dT%H:%M:%S', lease_until / 1000000, 'unixepoch') || printf('.%06dZ', lease_until % 1000000) AS lease_until,
       timeout, unique_key, request_id, user_id, tags, metadata, progress, result, last_error,
       strftime('%Y-%m-%dT%H:%M:%S', created_at / 1000000, 'unixepoch') || printf('.%06dZ', created_at % 1000000) AS created_at,
       strftime('%Y-%m-%dT%H:%M:%S', started_at / 1000000, 'unixepoch') || printf('.%06dZ', started_at % 1000000) AS started_at,
       strftime('%Y-%m-%dT%H:%M:%S', finished_at / 1000000, 'unixepoch') || printf('.%06dZ', finished_at % 1000000) AS finished_at,
       strftime('%Y-%m-%dT%H:%M:%S', updated_at / 1000000, 'unixepoch') || printf('.%06dZ', updated_at % 1000000) AS updated_at,
       strftime('%Y-%m-%dT%H:%M:%S', cancel_requested_at / 1000000, 'unixepoch') || printf('.%06dZ', cancel_requested_at % 1000000) AS cancel_requested_at
FROM sqluice_jobs WHERE status <> 'deleted';
