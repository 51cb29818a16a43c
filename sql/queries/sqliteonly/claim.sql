-- name: ListClaimableJobs :many
-- ListClaimableJobs lists the jobs that ClaimJobs would claim, as it would return them; StartJobs and StartJobRange hand them over.
-- For many jobs that costs less than an UPDATE that returns rows. No other writer may come between.
SELECT j.id, j.kind, j.payload, j.priority, j.run_after, j.start_by, j.attempt + 1 AS attempt, j.uncounted, j.max_attempts, j.crashes, j.timeout,
       j.unique_key, j.request_id, j.user_id, j.tags, j.metadata, j.created_at
FROM sqluice_jobs AS j WHERE j.id IN (
    SELECT c.id FROM json_each(CAST(@kinds AS TEXT)) AS k JOIN sqluice_jobs AS c ON c.id IN (
        SELECT i.id FROM sqluice_jobs AS i
        WHERE i.status = 'pending' AND i.queue = @queue AND i.kind = k.value
          AND i.run_after <= @now
        ORDER BY i.priority DESC, i.run_after, i.id LIMIT CAST(@n AS BIGINT)
    )
    WHERE EXISTS (SELECT 1 FROM sqluice_workers AS w WHERE w.id = @worker_id AND w.ended_at IS NULL)
      AND /* claimable */ NOT EXISTS (SELECT 1 FROM sqluice_pauses AS h WHERE h.queue = @queue AND h.kind IN ('', k.value))
      AND /* unlimited */ NOT EXISTS (SELECT 1 FROM sqluice_limits AS z WHERE z.limit_key = '' AND z.name IN (k.value, @queue)
          AND (z.scope = 'queue' AND z.name = @queue AND z.running + z.starts > 0 OR z.scope <> 'queue' AND z.name = k.value))
    ORDER BY c.priority DESC, c.run_after, c.id LIMIT CAST(@n AS BIGINT)
);

-- name: StartJobs :execrows
-- StartJobs hands pending jobs, a JSON list of ids, to a worker.
UPDATE sqluice_jobs SET updated_at = @now, status = 'running', attempt = attempt + 1,
                worker_id = CAST(@worker_id AS BIGINT), lease_until = CAST(@lease_until AS BIGINT), started_at = @now, finished_at = NULL,
                prefetched = CASE WHEN CAST(@prefetch AS BIGINT) = 1 THEN attempt + 1 END
WHERE COALESCE(status, '') = 'pending' AND id IN (SELECT e.value FROM json_each(CAST(@ids AS TEXT)) AS e);

-- name: StartJobRange :execrows
-- StartJobRange is StartJobs for jobs whose ids have no gap. It walks through them once; StartJobs looks each up twice.
UPDATE sqluice_jobs SET updated_at = @now, status = 'running', attempt = attempt + 1,
                worker_id = CAST(@worker_id AS BIGINT), lease_until = CAST(@lease_until AS BIGINT), started_at = @now, finished_at = NULL,
                prefetched = CASE WHEN CAST(@prefetch AS BIGINT) = 1 THEN attempt + 1 END
WHERE id BETWEEN @first AND @last AND COALESCE(status, '') = 'pending';
