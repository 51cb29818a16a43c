-- name: RequeueJob :execrows
-- RequeueJob makes a failed, cancelled or scheduled job claimable now, with all its attempts before it. One that has ended may start at
-- any time again: otherwise one that expired would at once expire again.
-- It leaves the job alone when another live job has taken its unique key; a scheduled one that is no successor has that itself. And it
-- leaves one alone whose payload was erased.
UPDATE sqluice_jobs SET updated_at = CAST(@now AS BIGINT), status = CASE WHEN limit_key IS NULL THEN 'pending' ELSE 'scheduled' END, run_after = @now,
                uncounted = attempt, crashes = 0, finished_at = NULL, cancel_requested_at = NULL, worker_id = NULL,
                progress = NULL, result = NULL, start_by = CASE status WHEN 'scheduled' THEN start_by END,
                successor_at = NULL
WHERE id = CAST(@id AS BIGINT) AND status IN ('failed', 'cancelled', 'scheduled') AND payload <> '"[forgotten]"'
  AND (status = CAST(sqlc.narg('only') AS TEXT) OR sqlc.narg('only') IS NULL)
  AND NOT EXISTS (
    SELECT 1 FROM sqluice_jobs AS o
    WHERE o.kind = sqluice_jobs.kind AND o.unique_key = sqluice_jobs.unique_key AND o.unique_key IS NOT NULL
      AND o.status IN ('scheduled', 'waiting', 'pending', 'running') AND o.successor_at IS NULL AND o.id <> sqluice_jobs.id)
  AND (status = 'scheduled' OR NOT EXISTS (
    SELECT 1 FROM sqluice_jobs AS s
    WHERE s.kind = sqluice_jobs.kind AND s.unique_key = sqluice_jobs.unique_key AND s.successor_at IS NOT NULL
    LIMIT 1 OFFSET 0 /* which keeps PostgreSQL from reading all of the index */));

-- name: CancelWaitingJob :many
-- CancelWaitingJob ends a job that has not started.
UPDATE sqluice_jobs SET updated_at = @now, status = 'cancelled', finished_at = @now,
                run_after = COALESCE(successor_at, run_after), successor_at = NULL
WHERE id = @id AND status IN ('scheduled', 'waiting', 'pending')
  AND (status = CAST(sqlc.narg('only') AS TEXT) OR sqlc.narg('only') IS NULL)
RETURNING queue, kind, unique_key, limit_key;

-- name: RequestJobCancel :execrows
-- RequestJobCancel asks the holder of a running job to stop it; asking twice changes nothing.
UPDATE sqluice_jobs SET updated_at = @now, cancel_requested_at = @now
WHERE id = @id AND status = 'running' AND cancel_requested_at IS NULL
  AND (status = CAST(sqlc.narg('only') AS TEXT) OR sqlc.narg('only') IS NULL);

-- name: DeleteJob :many
-- DeleteJob removes a job that is not running, with its errors, and returns its status.
DELETE FROM sqluice_jobs WHERE id = @id AND status NOT IN ('running', 'deleted')
  AND (status = CAST(sqlc.narg('only') AS TEXT) OR sqlc.narg('only') IS NULL)
RETURNING queue, kind, unique_key, limit_key, status;

-- name: UpdateWaitingJob :execrows
-- UpdateWaitingJob changes a job that has not started. One that gets another place in its queue becomes scheduled, and pending again
-- when its run_after has come. Another payload has all attempts, whatever those with the old one have used up. It changes none that would
-- be due only when it is too late to start.
UPDATE sqluice_jobs SET
    updated_at = @now,
    priority = COALESCE(CAST(sqlc.narg('priority') AS BIGINT), priority),
    run_after = CASE WHEN successor_at IS NULL THEN COALESCE(CAST(sqlc.narg('run_after') AS BIGINT), run_after) ELSE run_after END,
    successor_at = CASE WHEN successor_at IS NULL THEN NULL ELSE COALESCE(sqlc.narg('run_after'), successor_at) END,
    queue = COALESCE(sqlc.narg('queue'), queue),
    payload = COALESCE(sqlc.narg('payload'), payload),
    uncounted = CASE WHEN sqlc.narg('payload') IS NULL THEN uncounted ELSE attempt END,
    crashes = CASE WHEN sqlc.narg('payload') IS NULL THEN crashes ELSE 0 END,
    progress = CASE WHEN sqlc.narg('payload') IS NULL THEN progress END,
    max_attempts = COALESCE(CAST(sqlc.narg('max_attempts') AS BIGINT), max_attempts),
    status = CASE WHEN sqlc.narg('priority') IS NULL AND sqlc.narg('run_after') IS NULL AND sqlc.narg('queue') IS NULL
        THEN status ELSE 'scheduled' END
WHERE id = @id AND status IN ('scheduled', 'waiting', 'pending')
  AND (start_by > sqlc.narg('run_after') OR start_by IS NULL OR sqlc.narg('run_after') IS NULL)
  AND (status = CAST(sqlc.narg('only') AS TEXT) OR sqlc.narg('only') IS NULL);
