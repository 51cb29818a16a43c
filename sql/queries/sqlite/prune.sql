-- name: DeleteFailedJobs :execrows
-- DeleteFailedJobs removes up to n jobs that failed or were cancelled before a time, the oldest first.
-- It passes over rows that another process is deleting (on SQLite there are none), and over jobs that are set aside.
DELETE FROM sqluice_jobs WHERE id IN (
    SELECT f.id FROM sqluice_jobs AS f
    WHERE (f.status = 'failed' OR f.status = 'cancelled') AND f.status = CAST(@status AS TEXT)
      AND f.finished_at < CAST(@before AS BIGINT)
      AND NOT EXISTS (SELECT 1 FROM sqluice_refusals AS r WHERE r.job_id = f.id AND r.action = 'prune' AND r.again_at > CAST(@now AS BIGINT) LIMIT 1 OFFSET 0)
    ORDER BY f.finished_at LIMIT CAST(@n AS BIGINT));

-- name: DeleteDoneJobs :execrows
-- DeleteDoneJobs removes the jobs after one id and up to another that are done since before a time.
-- It passes over rows that another process is deleting (on SQLite there are none), and over jobs that are set aside.
DELETE FROM sqluice_jobs WHERE id > CAST(@after AS BIGINT) AND id <= CAST(@last_id AS BIGINT)
    AND status = 'done' AND finished_at < CAST(@before AS BIGINT)
    AND NOT EXISTS (SELECT 1 FROM sqluice_refusals AS r WHERE r.job_id = sqluice_jobs.id AND r.action = 'prune' AND r.again_at > CAST(@now AS BIGINT) LIMIT 1 OFFSET 0);
