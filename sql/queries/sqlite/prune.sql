-- name: DeleteFailedJobs :execrows
-- DeleteFailedJobs removes up to n jobs that failed or were cancelled before a time, the oldest first.
-- It passes over rows that another process is deleting (on SQLite there are none), and over jobs that are set aside.
DELETE FROM sqluice_jobs WHERE id IN (
    SELECT f.id FROM sqluice_jobs AS f
    WHERE (f.status = 'failed' OR f.status = 'cancelled') AND f.status = CAST(@status AS TEXT)
      AND f.finished_at < CAST(@before AS BIGINT)
      AND NOT EXISTS (SELECT 1 FROM sqluice_refusals AS r WHERE r.job_id = f.id AND r.action = 'prune' AND r.again_at > @now LIMIT 1 OFFSET 0)
    ORDER BY f.finished_at LIMIT CAST(@n AS BIGINT));

-- name: DeleteExpiredJobs :execrows
-- DeleteExpiredJobs removes the jobs after one id and up to another that may go, as GetPruneStep has it.
-- It passes over rows that another process is deleting (on SQLite there are none), and over jobs that are set aside.
DELETE FROM sqluice_jobs WHERE id > @after AND id <= @last_id
    AND status IN ('done', 'failed', 'cancelled')
    AND finished_at < CAST(@now AS BIGINT) - COALESCE((
        SELECT COALESCE(r.keep, 253402300799999999) FROM sqluice_retentions AS r
        WHERE CAST(@rules AS BIGINT) = 1 AND r.status = sqluice_jobs.status AND r.kind IN ('', sqluice_jobs.kind) AND r.queue IN ('', sqluice_jobs.queue)
        ORDER BY r.kind = '', r.queue = '', r.origin LIMIT 1
    ), CASE sqluice_jobs.status WHEN 'done' THEN CAST(@done AS BIGINT) WHEN 'failed' THEN CAST(@failed AS BIGINT)
                     ELSE CAST(@cancelled AS BIGINT) END)
    AND NOT EXISTS (SELECT 1 FROM sqluice_refusals AS a WHERE a.job_id = sqluice_jobs.id AND a.action = 'prune' AND a.again_at > @now LIMIT 1 OFFSET 0);
