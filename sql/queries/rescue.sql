-- name: CountStuckJobs :one
-- CountStuckJobs counts the jobs that a rescue would act on: running, with a worker that is gone or a lease that is over.
SELECT CAST(COUNT(*) AS BIGINT) AS jobs FROM jobs AS j
WHERE j.status = 'running' AND (
    COALESCE(j.lease_until, 0) < CAST(@lease_before AS BIGINT)
    OR NOT EXISTS (SELECT 1 FROM workers AS w WHERE w.id = j.worker_id AND w.ended_at IS NULL)
);

-- name: CountCrashes :execrows
-- CountCrashes raises the crash count of the stuck jobs whose process ended.
UPDATE jobs SET crashes = crashes + 1
WHERE status = 'running' AND EXISTS (
    SELECT 1 FROM job_errors AS e WHERE e.job_id = jobs.id AND e.attempt = jobs.attempt AND e.cause = 'crash'
    LIMIT 1 OFFSET 0 /* which keeps PostgreSQL from reading all errors for it, instead of those of each running job */);

-- name: CancelStuckJobs :many
-- CancelStuckJobs ends the stuck jobs that were to be cancelled.
UPDATE jobs SET status = 'cancelled', finished_at = CAST(@now AS BIGINT), updated_at = CAST(@now AS BIGINT),
                lease_until = NULL
WHERE status = 'running' AND cancel_requested_at IS NOT NULL AND EXISTS (
    SELECT 1 FROM job_errors AS e
    WHERE e.job_id = jobs.id AND e.attempt = jobs.attempt AND e.cause IN ('crash', 'lost')
    LIMIT 1 OFFSET 0)
RETURNING queue, kind;

-- name: FailStuckJobs :many
-- FailStuckJobs fails the stuck jobs that have no attempt left, killed their process max_crashes times, or
-- are all to be looked at by a person (fail_all = 1).
UPDATE jobs SET status = 'failed', finished_at = CAST(@now AS BIGINT), updated_at = CAST(@now AS BIGINT),
                lease_until = NULL, last_error = (
    SELECT e.message FROM job_errors AS e
    WHERE e.job_id = jobs.id AND e.attempt = jobs.attempt ORDER BY e.id DESC LIMIT 1)
WHERE status = 'running'
  AND (attempt - uncounted >= max_attempts OR crashes >= CAST(@max_crashes AS BIGINT) OR CAST(@fail_all AS BIGINT) = 1)
  AND EXISTS (
    SELECT 1 FROM job_errors AS e
    WHERE e.job_id = jobs.id AND e.attempt = jobs.attempt AND e.cause IN ('crash', 'lost')
    LIMIT 1 OFFSET 0)
RETURNING queue, kind;

-- name: ResetStuckJobs :many
-- ResetStuckJobs gives every other stuck job back to be claimed anew.
UPDATE jobs SET status = 'pending', updated_at = CAST(@now AS BIGINT), worker_id = NULL, lease_until = NULL,
                last_error = (
    SELECT e.message FROM job_errors AS e
    WHERE e.job_id = jobs.id AND e.attempt = jobs.attempt ORDER BY e.id DESC LIMIT 1)
WHERE status = 'running' AND EXISTS (
    SELECT 1 FROM job_errors AS e
    WHERE e.job_id = jobs.id AND e.attempt = jobs.attempt AND e.cause IN ('crash', 'lost')
    LIMIT 1 OFFSET 0)
RETURNING queue, kind;
