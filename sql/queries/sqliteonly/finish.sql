-- name: CompleteJobRange :execrows
-- CompleteJobRange is CompleteJobs for attempts whose jobs' ids have no gap. It walks through them once.
UPDATE sqluice_jobs SET updated_at = @now, status = 'done', finished_at = @now, lease_until = NULL
WHERE id BETWEEN @first AND @last AND status = 'running'
  AND attempt = @attempt AND worker_id = CAST(@worker_id AS BIGINT);
