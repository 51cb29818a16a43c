-- name: CountHousework :one
-- CountHousework counts what a worker looks after: the running jobs that it holds, those that a rescue would act on (with a
-- worker that is gone or a lease that is over), and the live workers: itself, which others may have declared dead, and all. newest is
-- the largest id of any worker: it also differs when one has come and gone since the last look. in_force differs when other declarations are.
SELECT COUNT(CASE WHEN j.worker_id = CAST(@worker_id AS BIGINT) THEN 1 END) AS held,
       COUNT(CASE WHEN w.id IS NULL OR COALESCE(j.lease_until, 0) < CAST(@lease_before AS BIGINT) THEN 1 END) AS stuck,
       (SELECT COUNT(*) FROM sqluice_workers AS s WHERE s.id = @worker_id AND s.ended_at IS NULL) AS self,
       (SELECT COUNT(*) FROM sqluice_workers AS a WHERE a.ended_at IS NULL) AS live,
       CAST(COALESCE((SELECT MAX(b.id) FROM sqluice_workers AS b), 0) AS BIGINT) AS newest,
       CAST(COALESCE((SELECT SUM(d.ordinal) FROM sqluice_declarations AS d WHERE d.in_force = 1), 0) AS BIGINT) AS in_force
FROM sqluice_jobs AS j LEFT JOIN sqluice_workers AS w ON w.id = j.worker_id AND w.ended_at IS NULL WHERE j.status = 'running' AND j.finished_at IS NULL;

-- name: ExcuseUnstartedJobs :execrows
-- ExcuseUnstartedJobs takes the attempt off the count of each stuck job that may not have started: its claim was of more jobs than there
-- were free slots. It does so once: a job that was running when a process died before, or whose lease ran out before, is charged. So is one
-- on its last attempt: such a job never waits for a slot. CountCrashes comes after it.
UPDATE sqluice_jobs SET uncounted = uncounted + 1
WHERE status = 'running' AND finished_at IS NULL AND prefetched = attempt AND crashes = 0
  AND attempt - uncounted < CASE WHEN max_attempts > 0 THEN max_attempts ELSE COALESCE((
        SELECT k.max_attempts FROM sqluice_kind_settings AS k WHERE k.kind = sqluice_jobs.kind AND k.max_attempts > 0
    ), CAST(@default_attempts AS BIGINT)) END
  AND EXISTS (
    SELECT 1 FROM sqluice_job_errors AS e
    WHERE e.job_id = sqluice_jobs.id AND e.attempt = sqluice_jobs.attempt AND (e.cause = 'crash' OR e.cause = 'lost' AND NOT EXISTS (
        SELECT 1 FROM sqluice_job_errors AS o WHERE o.job_id = e.job_id AND o.attempt < e.attempt AND o.cause = 'lost' LIMIT 1 OFFSET 0))
    LIMIT 1 OFFSET 0);

-- name: CountCrashes :execrows
-- CountCrashes raises the crash count of the stuck jobs whose process ended.
UPDATE sqluice_jobs SET crashes = crashes + 1
WHERE status = 'running' AND finished_at IS NULL AND EXISTS (
    SELECT 1 FROM sqluice_job_errors AS e WHERE e.job_id = sqluice_jobs.id AND e.attempt = sqluice_jobs.attempt AND e.cause = 'crash'
    LIMIT 1 OFFSET 0 /* which keeps PostgreSQL from reading all errors for it, instead of those of each running job */);

-- name: EndStuckJobs :many
-- EndStuckJobs ends the stuck jobs whose cancellation was requested, and fails each that has no attempt left or that killed its process
-- max_crashes times; all of them when a person must look at them first (fail_all = 1). A job without a max_attempts has as many as its
-- kind declares, or else default_attempts.
UPDATE sqluice_jobs SET updated_at = @now, status = CASE WHEN cancel_requested_at IS NULL THEN 'failed' ELSE 'cancelled' END,
                finished_at = @now, lease_until = NULL, last_error = CASE WHEN cancel_requested_at IS NULL THEN (
    SELECT e.message FROM sqluice_job_errors AS e
    WHERE e.job_id = sqluice_jobs.id AND e.attempt = sqluice_jobs.attempt ORDER BY e.id DESC LIMIT 1) ELSE last_error END
WHERE status = 'running' AND finished_at IS NULL
  AND (cancel_requested_at IS NOT NULL OR attempt - uncounted >= CASE WHEN max_attempts > 0 THEN max_attempts ELSE COALESCE((
        SELECT k.max_attempts FROM sqluice_kind_settings AS k WHERE k.kind = sqluice_jobs.kind AND k.max_attempts > 0
    ), CAST(@default_attempts AS BIGINT)) END OR crashes >= @max_crashes OR CAST(@fail_all AS BIGINT) = 1)
  AND EXISTS (
    SELECT 1 FROM sqluice_job_errors AS e
    WHERE e.job_id = sqluice_jobs.id AND e.attempt = sqluice_jobs.attempt AND e.cause IN ('crash', 'lost')
    LIMIT 1 OFFSET 0)
RETURNING queue, kind, unique_key, status, limit_key;

-- name: ResetStuckJobs :many
-- ResetStuckJobs gives every other stuck job back to be claimed anew.
UPDATE sqluice_jobs SET updated_at = @now, status = CASE WHEN limit_key IS NULL THEN 'pending' ELSE 'scheduled' END,
                worker_id = NULL, lease_until = NULL, start_by = NULL,
                last_error = (
    SELECT e.message FROM sqluice_job_errors AS e
    WHERE e.job_id = sqluice_jobs.id AND e.attempt = sqluice_jobs.attempt ORDER BY e.id DESC LIMIT 1)
WHERE status = 'running' AND finished_at IS NULL AND EXISTS (
    SELECT 1 FROM sqluice_job_errors AS e
    WHERE e.job_id = sqluice_jobs.id AND e.attempt = sqluice_jobs.attempt AND e.cause IN ('crash', 'lost')
    LIMIT 1 OFFSET 0)
RETURNING queue, kind, limit_key;

-- name: ReleaseHeldJobs :execrows
-- ReleaseHeldJobs releases the jobs of a worker that has said that it stops: those whose end RecordHeldJobs has noted, in the same
-- transaction. The attempts do not count. Jobs whose cancellation was requested are left to the rescue.
UPDATE sqluice_jobs SET updated_at = @now, status = CASE WHEN limit_key IS NULL THEN 'pending' ELSE 'scheduled' END,
                uncounted = uncounted + 1, worker_id = NULL, lease_until = NULL, start_by = NULL
WHERE status = 'running' AND finished_at IS NULL AND worker_id = CAST(@worker_id AS BIGINT) AND cancel_requested_at IS NULL AND EXISTS (
    SELECT 1 FROM sqluice_job_errors AS e
    WHERE e.job_id = sqluice_jobs.id AND e.attempt = sqluice_jobs.attempt AND e.cause = 'released'
    LIMIT 1 OFFSET 0);
