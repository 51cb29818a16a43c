-- name: CompleteJobs :execrows
-- CompleteJobs ends attempts well and without a result: those of a JSON list of job ids that all have the same
-- attempt number, as almost all of a batch do.
UPDATE sqluice_jobs SET updated_at = @now, status = 'done', finished_at = @now,
                lease_until = NULL
WHERE status = 'running' AND worker_id = CAST(@worker_id AS BIGINT)
  AND attempt = @attempt AND id = ANY (CAST((SELECT sqluice_ids(@ids)) AS BIGINT[]));

-- name: DropCompletedJobs :many
-- DropCompletedJobs ends attempts well as CompleteJobs does, of jobs whose kind keeps nothing: it removes their rows. It returns
-- the ids of the jobs that the worker still held.
DELETE FROM sqluice_jobs
WHERE status = 'running' AND worker_id = CAST(@worker_id AS BIGINT)
  AND attempt = @attempt AND id = ANY (CAST((SELECT sqluice_ids(@ids)) AS BIGINT[]))
RETURNING id;

-- name: CompleteJobsWithResults :execrows
-- CompleteJobsWithResults ends attempts, a JSON list of [id, attempt, result], well and with their results.
UPDATE sqluice_jobs AS j SET updated_at = @now, status = 'done', result = e.value->>2, finished_at = @now, lease_until = NULL
FROM jsonb_array_elements(CAST(CAST(@items AS TEXT) AS jsonb)) AS e (value)
WHERE j.status = 'running' AND j.worker_id = CAST(@worker_id AS BIGINT)
  AND j.id = CAST(e.value->>0 AS BIGINT) AND j.attempt = CAST(e.value->>1 AS BIGINT);

-- name: RecordReleasedJobs :exec
-- RecordReleasedJobs notes the end of the attempts that ReleaseJobs then gives back, in the same transaction. They did not start.
INSERT INTO sqluice_job_errors (job_id, attempt, worker_id, ended_at, cause, message)
SELECT l.id, l.attempt, l.worker_id, @now, 'released', '' FROM (
    SELECT j.id, j.attempt, j.worker_id FROM sqluice_jobs AS j
    WHERE j.status = 'running' AND j.cancel_requested_at IS NULL
      AND j.worker_id = CAST(@worker_id AS BIGINT) AND j.attempt = @attempt
      AND j.id = ANY (CAST((SELECT sqluice_ids(@ids)) AS BIGINT[])) ORDER BY j.id FOR NO KEY UPDATE) AS l;

-- name: ReleaseJobs :many
-- ReleaseJobs releases jobs that were claimed and did not start: those of a JSON list of job ids that all have the same attempt
-- number. The attempts do not count. Jobs whose cancellation was requested are left to EndJob.
UPDATE sqluice_jobs SET updated_at = @now, status = @status, uncounted = uncounted + 1,
                worker_id = NULL, lease_until = NULL
WHERE status = 'running' AND cancel_requested_at IS NULL
  AND worker_id = CAST(@worker_id AS BIGINT) AND attempt = @attempt
  AND id = ANY (CAST((SELECT sqluice_ids(@ids)) AS BIGINT[]))
RETURNING id;

-- name: ExtendLeases :execrows
-- ExtendLeases renews the leases of attempts, a JSON list of [id, attempt], that their worker still holds. It does not
-- wait for rows that are locked (on SQLite none are), as one is by a CompleteJob in a transaction that is still open.
UPDATE sqluice_jobs SET lease_until = CAST(@lease_until AS BIGINT)
WHERE id IN (
    SELECT j.id FROM (SELECT CAST(@worker_id AS BIGINT) AS id) AS w
    CROSS JOIN jsonb_array_elements(CAST(CAST(@items AS TEXT) AS jsonb)) AS e (value)
    JOIN sqluice_jobs AS j ON j.id = CAST(e.value->>0 AS BIGINT) AND j.attempt = CAST(e.value->>1 AS BIGINT)
    WHERE j.status = 'running' AND j.worker_id = w.id
    FOR NO KEY UPDATE OF j SKIP LOCKED
);

-- name: ListLockedJobs :many
-- ListLockedJobs lists those of a JSON list of ids of jobs whose rows other transactions have locked (on SQLite none are).
SELECT j.id FROM sqluice_jobs AS j
WHERE j.id = ANY (CAST((SELECT sqluice_ids(@ids)) AS BIGINT[]))
  AND NOT j.id = ANY (ARRAY(
    SELECT f.id FROM sqluice_jobs AS f
    WHERE f.id = ANY (CAST((SELECT sqluice_ids(@ids)) AS BIGINT[]))
    FOR NO KEY UPDATE SKIP LOCKED
  ))
ORDER BY j.id;
