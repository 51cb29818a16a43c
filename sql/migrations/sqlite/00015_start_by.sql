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
        'sqluice_jobs_start_by'
    ) ORDER BY s.name
) AS n) AS t WHERE t.names IS NOT NULL;
DROP TABLE sqluice_taken;

-- A job that no worker has started by this time ends as cancelled; NULL for none, and when an attempt has begun and given the job back. The index has only those that may still end so.
ALTER TABLE sqluice_jobs ADD COLUMN start_by INTEGER
    CONSTRAINT start_by_is_in_unix_microseconds CHECK (start_by BETWEEN 100000000000000 AND 253402300799999999);
CREATE INDEX sqluice_jobs_start_by ON sqluice_jobs (start_by)
    WHERE start_by IS NOT NULL AND status IN ('scheduled', 'pending');

DROP VIEW sqluice_jobs_readable;
CREATE VIEW sqluice_jobs_readable AS
SELECT id, queue, kind, payload, status, priority,
       strftime('%Y-%m-%dT%H:%M:%S', run_after / 1000000, 'unixepoch') || printf('.%06dZ', run_after % 1000000) AS run_after,
       strftime('%Y-%m-%dT%H:%M:%S', start_by / 1000000, 'unixepoch') || printf('.%06dZ', start_by % 1000000) AS start_by,
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
DROP INDEX sqluice_jobs_start_by;
ALTER TABLE sqluice_jobs DROP COLUMN start_by;
