-- name: GetNextRunAfter :one
-- GetNextRunAfter is the time at which the first scheduled job falls due; 0 when none is scheduled, so 1 for a job due at 0.
SELECT CAST(CASE WHEN MIN(j.run_after) = 0 THEN 1 ELSE COALESCE(MIN(j.run_after), 0) END AS BIGINT) AS run_after
FROM sqluice_jobs AS j WHERE j.status = 'scheduled';

-- name: ListClaimableJobsOfKind :many
-- ListClaimableJobsOfKind lists up to n due jobs of a queue and a kind, best first by priority, run_after, id, for those who know
-- that the kind may be claimed. Unless more is 0, a job has values in columns that most leave empty, and that are not listed.
SELECT j.id, j.kind, j.payload, j.priority, j.run_after, CAST(j.attempt + CASE WHEN j.attempt < 1000000000 THEN 1 ELSE 0 END AS BIGINT) AS attempt, j.max_attempts, j.created_at,
       CAST(CASE WHEN j.uncounted <> 0 OR j.crashes <> 0 OR j.timeout <> 0
                   OR COALESCE(j.unique_key, j.request_id, j.user_id, j.tags, j.metadata) IS NOT NULL THEN 1 ELSE 0 END AS BIGINT) AS more
FROM sqluice_jobs AS j
WHERE j.status = 'pending' AND j.queue = CAST(@queue AS TEXT) AND j.kind = CAST(@kind AS TEXT) AND j.run_after <= CAST(@now AS BIGINT)
ORDER BY j.priority DESC, j.run_after, j.id LIMIT CAST(@n AS BIGINT);

-- name: StartJobRange :execrows
-- StartJobRange is StartJobs for jobs whose ids have no gap, which needs no list.
UPDATE sqluice_jobs SET status = 'running', attempt = attempt + CASE WHEN attempt < 1000000000 THEN 1 ELSE 0 END, worker_id = CAST(@worker_id AS BIGINT),
                lease_until = CAST(@lease_until AS BIGINT), started_at = CAST(@now AS BIGINT),
                updated_at = CAST(@now AS BIGINT)
WHERE id BETWEEN CAST(@first AS BIGINT) AND CAST(@last AS BIGINT) AND COALESCE(status, '') = 'pending';
