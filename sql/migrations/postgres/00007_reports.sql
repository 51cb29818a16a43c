-- +goose Up
-- Lists and reports of jobs that failed or were cancelled: by the time, by the kind and the time, and by the id. A job that is
-- done is in no index: its entry was an eighth of what a job cost. Old done jobs are found in the order of their ids.
CREATE INDEX sqluice_jobs_failed ON sqluice_jobs (status, finished_at, id) WHERE status = 'failed' OR status = 'cancelled';
CREATE INDEX sqluice_jobs_failed_kind ON sqluice_jobs (kind, finished_at, id) WHERE status = 'failed';
CREATE INDEX sqluice_jobs_ended ON sqluice_jobs (status, id) WHERE status = 'failed' OR status = 'cancelled';

-- The jobs with their times as text, for people. The library never reads it.
CREATE VIEW sqluice_jobs_readable AS
SELECT id, queue, kind, payload, status, priority,
       to_char(to_timestamp(run_after / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS')
           || to_char(run_after % 1000000, '"."FM000000"Z"') AS run_after,
       to_char(to_timestamp(start_by / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS')
           || to_char(start_by % 1000000, '"."FM000000"Z"') AS start_by,
       attempt, uncounted, max_attempts, crashes, worker_id,
       to_char(to_timestamp(lease_until / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS')
           || to_char(lease_until % 1000000, '"."FM000000"Z"') AS lease_until,
       timeout, unique_key, request_id, user_id, tags, metadata, progress, result, last_error,
       to_char(to_timestamp(created_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS')
           || to_char(created_at % 1000000, '"."FM000000"Z"') AS created_at,
       to_char(to_timestamp(started_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS')
           || to_char(started_at % 1000000, '"."FM000000"Z"') AS started_at,
       to_char(to_timestamp(finished_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS')
           || to_char(finished_at % 1000000, '"."FM000000"Z"') AS finished_at,
       to_char(to_timestamp(updated_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS')
           || to_char(updated_at % 1000000, '"."FM000000"Z"') AS updated_at,
       to_char(to_timestamp(cancel_requested_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS')
           || to_char(cancel_requested_at % 1000000, '"."FM000000"Z"') AS cancel_requested_at,
       to_char(to_timestamp(successor_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS')
           || to_char(successor_at % 1000000, '"."FM000000"Z"') AS successor_at
FROM sqluice_jobs;

-- +goose Down
DROP VIEW sqluice_jobs_readable;
DROP INDEX sqluice_jobs_ended;
DROP INDEX sqluice_jobs_failed_kind;
DROP INDEX sqluice_jobs_failed;
