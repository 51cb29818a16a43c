-- +goose Up
-- Lists and reports of jobs that failed or were cancelled: by the time, by the kind and the time, and by the id. A job that is
-- done is in no index: its entry was an eighth of what a job cost. Old done jobs are found in the order of their ids.
CREATE INDEX sqluice_jobs_failed ON sqluice_jobs (status, finished_at) WHERE status = 'failed' OR status = 'cancelled';
CREATE INDEX sqluice_jobs_failed_kind ON sqluice_jobs (kind, finished_at) WHERE status = 'failed';
CREATE INDEX sqluice_jobs_ended ON sqluice_jobs (status, id) WHERE status = 'failed' OR status = 'cancelled';

-- The jobs with their times as text, for people. The library never reads it.
CREATE VIEW sqluice_jobs_readable AS
SELECT id, queue, kind, payload, status, priority,
       strftime('%Y-%m-%dT%H:%M:%S', run_after / 1000000, 'unixepoch')
           || printf('.%06dZ', run_after % 1000000) AS run_after,
       strftime('%Y-%m-%dT%H:%M:%S', start_by / 1000000, 'unixepoch')
           || printf('.%06dZ', start_by % 1000000) AS start_by,
       attempt, uncounted, max_attempts, crashes, worker_id,
       strftime('%Y-%m-%dT%H:%M:%S', lease_until / 1000000, 'unixepoch')
           || printf('.%06dZ', lease_until % 1000000) AS lease_until,
       timeout, unique_key, request_id, user_id, tags, metadata, progress, result, last_error,
       strftime('%Y-%m-%dT%H:%M:%S', created_at / 1000000, 'unixepoch')
           || printf('.%06dZ', created_at % 1000000) AS created_at,
       strftime('%Y-%m-%dT%H:%M:%S', started_at / 1000000, 'unixepoch')
           || printf('.%06dZ', started_at % 1000000) AS started_at,
       strftime('%Y-%m-%dT%H:%M:%S', finished_at / 1000000, 'unixepoch')
           || printf('.%06dZ', finished_at % 1000000) AS finished_at,
       strftime('%Y-%m-%dT%H:%M:%S', updated_at / 1000000, 'unixepoch')
           || printf('.%06dZ', updated_at % 1000000) AS updated_at,
       strftime('%Y-%m-%dT%H:%M:%S', cancel_requested_at / 1000000, 'unixepoch')
           || printf('.%06dZ', cancel_requested_at % 1000000) AS cancel_requested_at,
       strftime('%Y-%m-%dT%H:%M:%S', successor_at / 1000000, 'unixepoch')
           || printf('.%06dZ', successor_at % 1000000) AS successor_at
FROM sqluice_jobs WHERE status <> 'deleted';

-- +goose Down
DROP VIEW sqluice_jobs_readable;
DROP INDEX sqluice_jobs_ended;
DROP INDEX sqluice_jobs_failed_kind;
DROP INDEX sqluice_jobs_failed;
