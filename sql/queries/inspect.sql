-- name: GetJob :one
-- GetJob is one job.
SELECT j.* FROM jobs AS j WHERE j.id = CAST(@id AS BIGINT);

-- name: ListFailedJobs :many
-- ListFailedJobs lists the jobs that failed since a time, the latest first: what is retried or looked at one by one.
SELECT j.* FROM jobs AS j
WHERE j.status = 'failed' AND j.finished_at >= CAST(@since AS BIGINT)
  AND (j.finished_at < CAST(@before_time AS BIGINT)
       OR j.finished_at = CAST(@before_time AS BIGINT) AND j.id < CAST(@before_id AS BIGINT))
  AND (CAST(sqlc.narg('kind') AS TEXT) IS NULL OR j.kind = CAST(sqlc.narg('kind') AS TEXT))
ORDER BY j.finished_at DESC, j.id DESC LIMIT CAST(@n AS BIGINT);

-- name: ReportFailedJobs :many
-- ReportFailedJobs groups the jobs that failed since a time by kind and error, the most frequent first, then the latest.
SELECT j.kind, CAST(COALESCE(j.last_error, '') AS TEXT) AS error, CAST(COUNT(*) AS BIGINT) AS jobs,
       CAST(MIN(j.finished_at) AS BIGINT) AS first_seen, CAST(MAX(j.finished_at) AS BIGINT) AS last_seen,
       CAST(MAX(j.id) AS BIGINT) AS example_id
FROM jobs AS j
WHERE j.status = 'failed' AND j.finished_at >= CAST(@since AS BIGINT)
  AND (CAST(sqlc.narg('kind') AS TEXT) IS NULL OR j.kind = CAST(sqlc.narg('kind') AS TEXT))
GROUP BY j.kind, j.last_error
ORDER BY COUNT(*) DESC, MAX(j.finished_at) DESC, MAX(j.id) DESC LIMIT CAST(@n AS BIGINT);

-- name: ListJobErrors :many
-- ListJobErrors lists the attempts of a job that did not end well, in order.
SELECT e.id, e.attempt, CAST(COALESCE(e.worker_id, 0) AS BIGINT) AS worker_id,
       CAST(COALESCE(w.name, '') AS TEXT) AS worker, CAST(COALESCE(e.started_at, 0) AS BIGINT) AS started_at,
       e.ended_at, e.cause, e.message, e.stack
FROM job_errors AS e LEFT JOIN workers AS w ON w.id = e.worker_id
WHERE e.job_id = CAST(@job_id AS BIGINT) ORDER BY e.attempt, e.id;

-- name: CountJobsByStatus :one
-- CountJobsByStatus counts the jobs of one status, each in an index of its own but those that are done: for these the
-- whole table is read.
SELECT CAST(CASE CAST(@status AS TEXT)
    WHEN 'pending' THEN (SELECT COUNT(*) FROM jobs AS p WHERE p.status = 'pending')
    WHEN 'scheduled' THEN (SELECT COUNT(*) FROM jobs AS s WHERE s.status = 'scheduled')
    WHEN 'running' THEN (SELECT COUNT(*) FROM jobs AS r WHERE r.status = 'running')
    WHEN 'done' THEN (SELECT COUNT(*) FROM jobs AS d WHERE d.status = 'done')
    ELSE (SELECT COUNT(*) FROM jobs AS f
          WHERE (f.status = 'failed' OR f.status = 'cancelled') AND f.status = CAST(@status AS TEXT))
END AS BIGINT) AS jobs;

-- name: GetOldestPending :one
-- GetOldestPending is the run_after of the job that has waited longest; 0 when none is pending.
SELECT CAST(COALESCE(MIN(j.run_after), 0) AS BIGINT) AS run_after FROM jobs AS j WHERE j.status = 'pending';

-- name: CountLiveJobsPerQueue :many
-- CountLiveJobsPerQueue counts the unfinished jobs of each queue by status; each status has an index of its own.
SELECT p.queue, CAST('pending' AS TEXT) AS status, CAST(COUNT(*) AS BIGINT) AS jobs
FROM jobs AS p WHERE p.status = 'pending' GROUP BY p.queue
UNION ALL
SELECT s.queue, CAST('scheduled' AS TEXT) AS status, CAST(COUNT(*) AS BIGINT) AS jobs
FROM jobs AS s WHERE s.status = 'scheduled' GROUP BY s.queue
UNION ALL
SELECT r.queue, CAST('running' AS TEXT) AS status, CAST(COUNT(*) AS BIGINT) AS jobs
FROM jobs AS r WHERE r.status = 'running' GROUP BY r.queue;

-- name: CountPendingJobsPerKind :many
-- CountPendingJobsPerKind counts the due jobs of each queue and kind: what shows work that no worker takes.
SELECT j.queue, j.kind, CAST(COUNT(*) AS BIGINT) AS jobs FROM jobs AS j
WHERE j.status = 'pending' GROUP BY j.queue, j.kind;
