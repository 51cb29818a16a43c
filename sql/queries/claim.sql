-- name: GetNextRunAfter :one
-- GetNextRunAfter is the time at which the first scheduled job falls due; 0 when none is scheduled.
SELECT CAST(COALESCE(MIN(j.run_after), 0) AS BIGINT) AS run_after FROM jobs AS j WHERE j.status = 'scheduled';

-- name: StartJobRange :execrows
-- StartJobRange is StartJobs for jobs whose ids have no gap, which needs no list.
UPDATE jobs SET status = 'running', attempt = attempt + 1, worker_id = CAST(@worker_id AS BIGINT),
                lease_until = CAST(@lease_until AS BIGINT), started_at = CAST(@now AS BIGINT),
                updated_at = CAST(@now AS BIGINT)
WHERE id BETWEEN CAST(@first AS BIGINT) AND CAST(@last AS BIGINT) AND COALESCE(status, '') = 'pending';
