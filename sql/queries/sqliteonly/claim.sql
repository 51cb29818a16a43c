-- name: StartJobs :execrows
-- StartJobs hands pending jobs, a JSON list of ids, to a worker.
UPDATE sqluice_jobs SET updated_at = @now, status = 'running', attempt = attempt + CASE WHEN attempt < 1000000000 THEN 1 ELSE 0 END,
                worker_id = CAST(@worker_id AS BIGINT), lease_until = CAST(@lease_until AS BIGINT), started_at = @now, finished_at = NULL
WHERE COALESCE(status, '') = 'pending' AND id IN (SELECT e.value FROM json_each(CAST(@ids AS TEXT)) AS e);

-- name: StartJobRange :execrows
-- StartJobRange is StartJobs for jobs whose ids have no gap. It walks through them once; StartJobs looks each up twice.
UPDATE sqluice_jobs SET updated_at = @now, status = 'running', attempt = attempt + CASE WHEN attempt < 1000000000 THEN 1 ELSE 0 END,
                worker_id = CAST(@worker_id AS BIGINT), lease_until = CAST(@lease_until AS BIGINT), started_at = @now, finished_at = NULL
WHERE id BETWEEN @first AND @last AND COALESCE(status, '') = 'pending';
