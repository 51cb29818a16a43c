-- name: CountJobsAhead :one
-- CountJobsAhead counts the due jobs of one queue and kind that are claimed before another, up to n of a higher priority,
-- n of the same that have been due for longer, and n that tie with it but for the id.
SELECT CAST(
    (SELECT COUNT(*) FROM (
        SELECT h.id FROM sqluice_jobs AS h
        WHERE h.status = 'pending' AND h.queue = CAST(@queue AS TEXT) AND h.kind = CAST(@kind AS TEXT)
          AND h.priority > CAST(@priority AS BIGINT) LIMIT CAST(@n AS BIGINT)) AS higher)
    + (SELECT COUNT(*) FROM (
        SELECT o.id FROM sqluice_jobs AS o
        WHERE o.status = 'pending' AND o.queue = CAST(@queue AS TEXT) AND o.kind = CAST(@kind AS TEXT)
          AND o.priority = CAST(@priority AS BIGINT) AND o.run_after < CAST(@run_after AS BIGINT)
        LIMIT CAST(@n AS BIGINT)) AS older)
    + (SELECT COUNT(*) FROM (
        SELECT t.id FROM sqluice_jobs AS t
        WHERE t.status = 'pending' AND t.queue = CAST(@queue AS TEXT) AND t.kind = CAST(@kind AS TEXT)
          AND t.priority = CAST(@priority AS BIGINT) AND t.run_after = CAST(@run_after AS BIGINT)
          AND t.id < CAST(@id AS BIGINT) LIMIT CAST(@n AS BIGINT)) AS tied)
AS BIGINT) AS jobs;

-- name: CountRunningJobsInQueue :many
-- CountRunningJobsInQueue counts the jobs of a queue that each worker holds, if it holds any.
SELECT CAST(COALESCE(j.worker_id, 0) AS BIGINT) AS worker_id, CAST(COUNT(*) AS BIGINT) AS jobs FROM sqluice_jobs AS j
WHERE j.status = 'running' AND j.queue = CAST(@queue AS TEXT) GROUP BY j.worker_id;
