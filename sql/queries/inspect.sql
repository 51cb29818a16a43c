-- name: GetJob :one
-- GetJob is one job.
SELECT j.* FROM sqluice_jobs AS j WHERE j.id = @id AND j.status <> 'deleted';

-- name: ListJobErrors :many
-- ListJobErrors lists the latest attempts of a job that failed (failed = 1), or that did not (failed = 0),
-- before a row, the latest first.
SELECT e.id, e.attempt, COALESCE(e.worker_id, 0) AS worker_id,
       COALESCE(w.name, '') AS worker, COALESCE(w.host, '') AS host,
       COALESCE(e.started_at, 0) AS started_at, e.ended_at, e.cause, e.message, e.stack
FROM sqluice_job_errors AS e LEFT JOIN sqluice_workers AS w ON w.id = e.worker_id
WHERE e.id IN (
    SELECT x.id FROM sqluice_job_errors AS x WHERE x.job_id = @job_id AND x.id < @before_id
      AND CASE WHEN x.cause IN ('snoozed', 'released', 'cancelled', 'unable') THEN 0 ELSE 1 END = CAST(@failed AS BIGINT)
    ORDER BY x.id DESC LIMIT @n)
ORDER BY e.id DESC;
