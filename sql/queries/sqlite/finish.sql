-- name: CompleteJobs :execrows
-- CompleteJobs ends attempts well and without a result: those of a JSON list of job ids that all have the same
-- attempt number, as almost all of a batch do.
UPDATE sqluice_jobs SET updated_at = @now, status = 'done', finished_at = @now,
                lease_until = NULL
WHERE status = 'running' AND worker_id = CAST(@worker_id AS BIGINT)
  AND attempt = @attempt AND id IN (SELECT e.value FROM json_each(CAST(@ids AS TEXT)) AS e);

-- name: DropCompletedJobs :many
-- DropCompletedJobs ends attempts well as CompleteJobs does, of jobs whose kind keeps nothing: it removes their rows. It returns
-- the ids of the jobs that the worker still held.
DELETE FROM sqluice_jobs
WHERE status = 'running' AND worker_id = CAST(@worker_id AS BIGINT)
  AND attempt = @attempt AND id IN (SELECT e.value FROM json_each(CAST(@ids AS TEXT)) AS e)
RETURNING id;

-- name: CompleteJobsWithResults :execrows
-- CompleteJobsWithResults ends attempts, a JSON list of [id, attempt, result], well and with their results.
INSERT INTO sqluice_jobs (id, kind, result, created_at)
SELECT j.id, j.kind, e.value->>2, @now
FROM (SELECT i.value, CAST(@worker_id AS BIGINT) AS worker_id FROM json_each(CAST(@items AS TEXT)) AS i) AS e
CROSS JOIN sqluice_jobs AS j ON j.id = e.value->>0
WHERE j.status = 'running' AND j.worker_id = e.worker_id AND j.attempt = e.value->>1
ON CONFLICT (id) DO UPDATE SET status = 'done', result = excluded.result, lease_until = NULL,
    finished_at = excluded.created_at, updated_at = excluded.created_at;

-- name: RecordReleasedJobs :exec
-- RecordReleasedJobs notes the end of the attempts that ReleaseJobs then gives back, in the same transaction. They did not start.
INSERT INTO sqluice_job_errors (job_id, attempt, worker_id, ended_at, cause, message)
SELECT j.id, j.attempt, j.worker_id, @now, 'released', '' FROM sqluice_jobs AS j
WHERE j.status = 'running' AND j.cancel_requested_at IS NULL
  AND j.worker_id = CAST(@worker_id AS BIGINT) AND j.attempt = @attempt
  AND j.id IN (SELECT e.value FROM json_each(CAST(@ids AS TEXT)) AS e);

-- name: ReleaseJobs :many
-- ReleaseJobs releases jobs that were claimed and did not start: those of a JSON list of job ids that all have the same attempt
-- number. The attempts do not count. Jobs whose cancellation was requested are left to EndJob.
UPDATE sqluice_jobs SET updated_at = @now, status = @status, uncounted = uncounted + 1,
                worker_id = NULL, lease_until = NULL
WHERE status = 'running' AND cancel_requested_at IS NULL
  AND worker_id = CAST(@worker_id AS BIGINT) AND attempt = @attempt
  AND id IN (SELECT e.value FROM json_each(CAST(@ids AS TEXT)) AS e)
RETURNING id;

-- name: ExtendLeases :execrows
-- ExtendLeases renews the leases of attempts, a JSON list of [id, attempt], that their worker still holds. It does not
-- wait for rows that are locked (on SQLite none are), as one is by a CompleteJob in a transaction that is still open.
UPDATE sqluice_jobs SET lease_until = CAST(@lease_until AS BIGINT)
WHERE status = 'running' AND worker_id = CAST(@worker_id AS BIGINT)
  AND (id, attempt) IN (SELECT e.value->>0, e.value->>1 FROM json_each(CAST(@items AS TEXT)) AS e);

-- name: ListLockedJobs :many
-- ListLockedJobs lists those of a JSON list of ids of jobs whose rows other transactions have locked (on SQLite none are).
SELECT j.id FROM sqluice_jobs AS j
WHERE j.id IN (SELECT e.value FROM json_each(CAST(@ids AS TEXT)) AS e) AND j.id < 1 /* no job has such an id */
ORDER BY j.id;
