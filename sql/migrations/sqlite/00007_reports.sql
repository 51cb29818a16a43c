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
        'sqluice_jobs_failed', 'sqluice_jobs_failed_kind', 'sqluice_jobs_ended', 'sqluice_jobs_scheduled',
        'sqluice_jobs_readable'
    ) ORDER BY s.name
) AS n) AS t WHERE t.names IS NOT NULL;
DROP TABLE sqluice_taken;

-- Lists and reports of jobs that failed or were cancelled: by the time, by the kind and the time, and by the id. A job that is
-- done is in no index: its entry was an eighth of what a job cost. Old done jobs are found in the order of their ids.
CREATE INDEX sqluice_jobs_failed ON sqluice_jobs (status, finished_at) WHERE status = 'failed' OR status = 'cancelled';
CREATE INDEX sqluice_jobs_failed_kind ON sqluice_jobs (kind, finished_at) WHERE status = 'failed';
CREATE INDEX sqluice_jobs_ended ON sqluice_jobs (status, id) WHERE status = 'failed' OR status = 'cancelled';

-- Scheduled jobs are counted in the order of this index, without a sort.
CREATE INDEX sqluice_jobs_scheduled ON sqluice_jobs (queue, kind, run_after) WHERE status = 'scheduled';

-- The jobs with their times as text, for people. The library never reads it.
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

-- +goose Down
DROP VIEW sqluice_jobs_readable;
DROP INDEX sqluice_jobs_scheduled;
DROP INDEX sqluice_jobs_ended;
DROP INDEX sqluice_jobs_failed_kind;
DROP INDEX sqluice_jobs_failed;
