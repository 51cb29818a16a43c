-- +goose Up
-- Rows that other programs ended without a time would be in no report and never be pruned.
UPDATE jobs SET finished_at = updated_at
WHERE finished_at IS NULL AND (status = 'done' OR status = 'failed' OR status = 'cancelled');

-- Serves both the pruning by status and age and the failed-job report.
CREATE INDEX jobs_finished ON jobs (status, finished_at) WHERE finished_at IS NOT NULL;

-- The jobs with their times as text, for people. The library never reads it.
CREATE VIEW jobs_readable AS
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
FROM jobs;

-- +goose Down
DROP VIEW jobs_readable;
DROP INDEX jobs_finished;
