-- name: CompleteJobRange :execrows
-- CompleteJobRange is CompleteJobs for attempts whose jobs' ids have no gap. It walks through them once.
UPDATE sqluice_jobs SET status = 'done', finished_at = CAST(@now AS BIGINT), updated_at = CAST(@now AS BIGINT), lease_until = NULL
WHERE id BETWEEN CAST(@first AS BIGINT) AND CAST(@last AS BIGINT) AND COALESCE(status, '') = 'running'
  AND attempt = CAST(@attempt AS BIGINT) AND COALESCE(worker_id, 0) = CAST(@worker_id AS BIGINT);
