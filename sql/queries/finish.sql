-- name: CompleteJob :execrows
-- CompleteJob ends one attempt well, with its result; it is the form that joins the caller's transaction.
-- Like every finishing statement it is fenced by id, status, attempt and worker: zero rows mean a lost lease.
UPDATE sqluice_jobs SET updated_at = @now, status = 'done', result = sqlc.narg('result_json'), finished_at = @now, lease_until = NULL
WHERE id = @id AND status = 'running' AND attempt = @attempt AND worker_id = CAST(@worker_id AS BIGINT);

-- name: RetryJob :execrows
-- RetryJob ends an attempt that failed and gives the job another one at run_after.
UPDATE sqluice_jobs SET updated_at = @now, status = @status, run_after = @run_after,
                last_error = CAST(@last_error AS TEXT),
                worker_id = NULL, lease_until = NULL, start_by = NULL
WHERE id = @id AND status = 'running' AND attempt = @attempt AND worker_id = CAST(@worker_id AS BIGINT);

-- name: SnoozeJob :execrows
-- SnoozeJob puts a job off until run_after; the attempt does not count.
UPDATE sqluice_jobs SET updated_at = @now, status = @status, run_after = @run_after, uncounted = uncounted + 1, worker_id = NULL, lease_until = NULL, start_by = NULL
WHERE id = @id AND status = 'running' AND attempt = @attempt AND worker_id = CAST(@worker_id AS BIGINT);

-- name: FailJob :execrows
-- FailJob ends a job for good: its attempts are used up, or it was discarded.
UPDATE sqluice_jobs SET updated_at = @now, status = 'failed', last_error = CAST(@last_error AS TEXT), finished_at = @now, lease_until = NULL
WHERE id = @id AND status = 'running' AND attempt = @attempt AND worker_id = CAST(@worker_id AS BIGINT);

-- name: CancelRunningJob :execrows
-- CancelRunningJob ends an attempt as cancelled, by its handler's own wish or on request.
UPDATE sqluice_jobs SET updated_at = @now, status = 'cancelled', last_error = sqlc.narg('last_error'),
                finished_at = @now, lease_until = NULL
WHERE id = @id AND status = 'running' AND attempt = @attempt AND worker_id = CAST(@worker_id AS BIGINT);

-- name: CancelRequestedJob :execrows
-- CancelRequestedJob ends an attempt that did not end well as cancelled if that was asked for.
UPDATE sqluice_jobs SET updated_at = @now, status = 'cancelled', last_error = sqlc.narg('last_error'),
                finished_at = @now, lease_until = NULL
WHERE id = @id AND status = 'running' AND attempt = @attempt AND worker_id = CAST(@worker_id AS BIGINT)
  AND cancel_requested_at IS NOT NULL;

-- name: ReleaseJob :execrows
-- ReleaseJob gives an unfinished job back when its worker stops; the attempt does not count.
UPDATE sqluice_jobs SET updated_at = @now, status = 'pending', uncounted = uncounted + 1,
                worker_id = NULL, lease_until = NULL, start_by = NULL
WHERE id = @id AND status = 'running' AND attempt = @attempt AND worker_id = CAST(@worker_id AS BIGINT);

-- name: SetJobProgress :execrows
-- SetJobProgress notes how far a running attempt has come.
UPDATE sqluice_jobs SET updated_at = @now, progress = CAST(@progress_json AS TEXT)
WHERE id = @id AND status = 'running' AND attempt = @attempt AND worker_id = CAST(@worker_id AS BIGINT);

-- name: AddJobError :exec
-- AddJobError records an attempt that did not end well, or that was snoozed, released or cancelled. started_at is 0 if it did not start.
INSERT INTO sqluice_job_errors (job_id, attempt, worker_id, started_at, ended_at, cause, message, stack)
VALUES (@job_id, @attempt, CAST(@worker_id AS BIGINT), NULLIF(CAST(@started_at AS BIGINT), 0),
        @ended_at, @cause, @message, @stack);

-- name: TrimJobAttempts :exec
-- TrimJobAttempts removes the rows of old attempts of a job, up to last, that were snoozed, released or cancelled.
DELETE FROM sqluice_job_errors
WHERE job_id = @job_id AND attempt <= @last AND cause IN ('snoozed', 'released', 'cancelled');

-- name: TrimHeldAttempts :exec
-- TrimHeldAttempts does the same for all jobs that a worker holds: it keeps the latest attempts of each.
DELETE FROM sqluice_job_errors WHERE id IN (
    SELECT e.id FROM sqluice_jobs AS j JOIN sqluice_job_errors AS e ON e.job_id = j.id
    WHERE j.status = 'running' AND j.finished_at IS NULL AND j.worker_id = CAST(@worker_id AS BIGINT)
      AND e.attempt <= j.attempt - @kept AND e.cause IN ('snoozed', 'released', 'cancelled'));

-- name: GetJobFence :one
-- GetJobFence tells who holds, or held, a job: what a holder reads to learn the outcome of a write it is unsure of.
SELECT j.status, j.attempt, COALESCE(j.worker_id, 0) AS worker_id, j.queue, j.kind,
       COALESCE(j.cancel_requested_at, 0) AS cancel_requested_at FROM sqluice_jobs AS j
WHERE j.id = @id;
