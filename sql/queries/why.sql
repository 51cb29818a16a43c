-- name: CountJobsAhead :one
-- CountJobsAhead counts the due jobs of one queue and kind that are claimed before another, up to n of a higher priority,
-- n of the same that have been due for longer, and n that tie with it but for the id.
SELECT CAST(
    (SELECT COUNT(*) FROM (
        SELECT h.id FROM sqluice_jobs AS h
        WHERE h.status = 'pending' AND h.queue = @queue AND h.kind = @kind
          AND h.priority > @priority LIMIT @n) AS higher)
    + (SELECT COUNT(*) FROM (
        SELECT o.id FROM sqluice_jobs AS o
        WHERE o.status = 'pending' AND o.queue = @queue AND o.kind = @kind
          AND o.priority = @priority AND o.run_after < @run_after
        LIMIT @n) AS older)
    + (SELECT COUNT(*) FROM (
        SELECT t.id FROM sqluice_jobs AS t
        WHERE t.status = 'pending' AND t.queue = @queue AND t.kind = @kind
          AND t.priority = @priority AND t.run_after = @run_after
          AND t.id < @id LIMIT @n) AS tied)
AS BIGINT) AS jobs;

-- name: CountRunningJobsInQueue :many
-- CountRunningJobsInQueue counts the jobs of a queue that each worker holds, if it holds any.
SELECT COALESCE(j.worker_id, 0) AS worker_id, COUNT(*) AS jobs FROM sqluice_jobs AS j
WHERE j.status = 'running' AND j.finished_at IS NULL AND j.queue = @queue GROUP BY j.worker_id;
