-- name: CompleteJob :execrows
-- CompleteJob ends one attempt well, with its result; it is the form that joins the caller's transaction.
-- Like every finishing statement it is fenced by id, status, attempt and worker: zero rows mean a lost lease.
UPDATE sqluice_jobs SET updated_at = @now, status = 'done', result = sqlc.narg('result_json'), finished_at = @now, lease_until = NULL
WHERE id = @id AND status = 'running' AND attempt = @attempt AND worker_id = CAST(@worker_id AS BIGINT);

-- name: EndJob :execrows
-- EndJob ends an attempt that did not end well, and the job with it: it has failed or is cancelled.
-- only_requested is 1 when it ends an attempt only if the job's cancellation was requested.
UPDATE sqluice_jobs SET updated_at = @now, status = @status, last_error = sqlc.narg('last_error'), finished_at = @now, lease_until = NULL
WHERE id = @id AND status = 'running' AND attempt = @attempt AND worker_id = CAST(@worker_id AS BIGINT)
  AND (CAST(@only_requested AS BIGINT) = 0 OR cancel_requested_at IS NOT NULL);

-- name: ReturnJob :execrows
-- ReturnJob ends an attempt and gives the job another one: after an error (retry), at a handler's wish (snooze), or when its worker
-- stops (release). uncounted is 1 when the attempt does not count. NULL keeps run_after and last_error as they are.
UPDATE sqluice_jobs SET updated_at = @now, status = @status, run_after = COALESCE(CAST(sqlc.narg('run_after') AS BIGINT), run_after),
                last_error = COALESCE(CAST(sqlc.narg('last_error') AS TEXT), last_error), uncounted = uncounted + CAST(@uncounted AS BIGINT),
                worker_id = NULL, lease_until = NULL, start_by = NULL
WHERE id = @id AND status = 'running' AND attempt = @attempt AND worker_id = CAST(@worker_id AS BIGINT);

-- name: PutOffJob :execrows
-- PutOffJob ends an attempt whose worker could not run the job, and gives the job another one later. It does not count, and the job must still
-- start in time.
UPDATE sqluice_jobs SET updated_at = @now, status = 'scheduled', run_after = @run_after, uncounted = uncounted + 1,
                worker_id = NULL, lease_until = NULL
WHERE id = @id AND status = 'running' AND attempt = @attempt AND worker_id = CAST(@worker_id AS BIGINT);

-- name: GetUnableAttempts :one
-- GetUnableAttempts counts the latest attempts of a job that ended because their workers could not run it, and returns when the first of them
-- did and the row of the last one, 0 for none. Attempts that were released between them do not matter.
SELECT COUNT(*) AS attempts, CAST(COALESCE(MIN(u.ended_at), 0) AS BIGINT) AS since, CAST(COALESCE(MAX(u.id), 0) AS BIGINT) AS last_id FROM sqluice_job_errors AS u
WHERE u.job_id = @job_id AND u.cause = 'unable' AND u.attempt > COALESCE((
    SELECT MAX(o.attempt) FROM sqluice_job_errors AS o WHERE o.job_id = @job_id AND o.cause NOT IN ('unable', 'released')
), 0);

-- name: SetJobProgress :execrows
-- SetJobProgress notes how far a running attempt has come.
UPDATE sqluice_jobs SET updated_at = @now, progress = CAST(@progress_json AS TEXT)
WHERE id = @id AND status = 'running' AND attempt = @attempt AND worker_id = CAST(@worker_id AS BIGINT);

-- name: AddJobError :exec
-- AddJobError records an attempt that did not end well, or that did not count. started_at is 0 if it did not start.
INSERT INTO sqluice_job_errors (job_id, attempt, worker_id, started_at, ended_at, cause, message, stack)
VALUES (@job_id, @attempt, CAST(@worker_id AS BIGINT), NULLIF(CAST(@started_at AS BIGINT), 0),
        @ended_at, @cause, @message, @stack);

-- name: TrimJobAttempts :exec
-- TrimJobAttempts removes the rows of old attempts of a job, up to last, that did not fail.
DELETE FROM sqluice_job_errors
WHERE job_id = @job_id AND attempt <= @last AND cause IN ('snoozed', 'released', 'cancelled', 'unable');

-- name: TrimHeldAttempts :exec
-- TrimHeldAttempts does the same for all jobs that a worker holds: it keeps the latest attempts of each.
DELETE FROM sqluice_job_errors WHERE id IN (
    SELECT e.id FROM sqluice_jobs AS j JOIN sqluice_job_errors AS e ON e.job_id = j.id
    WHERE j.status = 'running' AND j.finished_at IS NULL AND j.worker_id = CAST(@worker_id AS BIGINT)
      AND e.attempt <= j.attempt - @kept AND e.cause IN ('snoozed', 'released', 'cancelled', 'unable'));

-- name: GetJobFence :one
-- GetJobFence tells who holds, or held, a job: what a holder reads to learn the outcome of a write it is unsure of.
SELECT j.status, j.attempt, COALESCE(j.worker_id, 0) AS worker_id, j.queue, j.kind, j.limit_key,
       COALESCE(j.cancel_requested_at, 0) AS cancel_requested_at FROM sqluice_jobs AS j
WHERE j.id = @id;
