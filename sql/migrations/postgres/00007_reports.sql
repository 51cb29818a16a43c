-- +goose Up
-- Rows that other programs ended without a time would be in no report and never be pruned.
UPDATE jobs SET finished_at = updated_at
WHERE finished_at IS NULL AND (status = 'done' OR status = 'failed' OR status = 'cancelled');

-- Serves both the pruning by status and age and the failed-job report.
CREATE INDEX jobs_finished ON jobs (status, finished_at) WHERE finished_at IS NOT NULL;

-- The jobs with their times as text, for people. The library never reads it.
CREATE VIEW jobs_readable AS
SELECT id, queue, kind, payload, status, priority,
       to_char(to_timestamp(run_after / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') || to_char(run_after % 1000000, '"."FM000000"Z"') AS run_after,
       attempt, uncounted, max_attempts, crashes, worker_id,
       to_char(to_timestamp(lease_until / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') || to_char(lease_until % 1000000, '"."FM000000"Z"') AS lease_until,
       timeout, unique_key, request_id, user_id, tags, metadata, progress, result, last_error,
       to_char(to_timestamp(created_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') || to_char(created_at % 1000000, '"."FM000000"Z"') AS created_at,
       to_char(to_timestamp(started_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') || to_char(started_at % 1000000, '"."FM000000"Z"') AS started_at,
       to_char(to_timestamp(finished_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') || to_char(finished_at % 1000000, '"."FM000000"Z"') AS finished_at,
       to_char(to_timestamp(updated_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') || to_char(updated_at % 1000000, '"."FM000000"Z"') AS updated_at,
       to_char(to_timestamp(cancel_requested_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') || to_char(cancel_requested_at % 1000000, '"."FM000000"Z"') AS cancel_requested_at
FROM jobs;

-- +goose Down
DROP VIEW jobs_readable;
DROP INDEX jobs_finished;
