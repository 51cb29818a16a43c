-- name: ClaimJobs :many
-- ClaimJobs hands up to n due jobs of one queue to a live worker, best first by priority, run_after, id.
-- Rows come back in no order. For each kind it reads at most n index entries, whatever else the table holds.
-- It claims none while a scheduled job of any queue is due before none_due_before; 0 means that this does not matter.
-- cursors, when not empty, say where to begin, on PostgreSQL. prefetch is 1 when n is more than the free slots.
UPDATE sqluice_jobs SET updated_at = @now, status = 'running', attempt = attempt + 1,
                worker_id = CAST(@worker_id AS BIGINT), lease_until = CAST(@lease_until AS BIGINT), started_at = @now, finished_at = NULL,
                prefetched = CASE WHEN CAST(@prefetch AS BIGINT) = 1 THEN attempt + 1 END
WHERE id IN (
    SELECT c.id FROM json_each(CAST(@kinds AS TEXT)) AS k JOIN sqluice_jobs AS c ON c.id IN (
        SELECT j.id FROM sqluice_jobs AS j
        WHERE CAST(@cursors AS TEXT) = '' AND j.status = 'pending' AND j.queue = @queue AND j.kind = k.value
          AND j.run_after <= @now
        ORDER BY j.priority DESC, j.run_after, j.id LIMIT CAST(@n AS BIGINT)
    )
    WHERE EXISTS (SELECT 1 FROM sqluice_workers AS w WHERE w.id = @worker_id AND w.ended_at IS NULL)
      AND /* claimable */ NOT EXISTS (SELECT 1 FROM sqluice_pauses AS h WHERE h.queue = @queue AND h.kind IN ('', k.value))
      AND /* unlimited */ NOT EXISTS (SELECT 1 FROM sqluice_limits AS z WHERE z.limit_key = '' AND z.name IN (k.value, @queue)
          AND (z.scope = 'queue' AND z.name = @queue AND z.running + z.starts > 0 OR z.scope <> 'queue' AND z.name = k.value))
      AND (CAST(@none_due_before AS BIGINT) = 0 OR @none_due_before
           <= COALESCE((SELECT MIN(d.run_after) FROM sqluice_jobs AS d WHERE d.status = 'scheduled' AND d.limit_key IS NULL), 9223372036854775807))
    ORDER BY c.priority DESC, c.run_after, c.id LIMIT CAST(@n AS BIGINT)
)
RETURNING id, kind, payload, priority, run_after, start_by, attempt, uncounted, max_attempts, crashes, timeout,
          unique_key, request_id, user_id, tags, metadata, created_at;

-- name: ClaimListedJobs :many
-- ClaimListedJobs hands those jobs of a JSON list of ids to a live worker that ClaimJobs might. The rows are as ClaimJobs returns
-- them. It does not wait for rows that are locked (on SQLite none are).
UPDATE sqluice_jobs SET updated_at = @now, status = 'running', attempt = attempt + 1,
                worker_id = CAST(@worker_id AS BIGINT), lease_until = CAST(@lease_until AS BIGINT), started_at = @now, finished_at = NULL,
                prefetched = CASE WHEN CAST(@prefetch AS BIGINT) = 1 THEN attempt + 1 END
WHERE id IN (SELECT e.value FROM json_each(CAST(@ids AS TEXT)) AS e)
  AND COALESCE(status, '') = 'pending' AND queue = CAST(@queue AS TEXT) AND run_after <= @now
  AND EXISTS (SELECT 1 FROM sqluice_workers AS w WHERE w.id = @worker_id AND w.ended_at IS NULL)
  AND /* claimable */ NOT EXISTS (SELECT 1 FROM sqluice_pauses AS h WHERE h.queue = @queue AND h.kind IN ('', sqluice_jobs.kind))
  AND /* unlimited */ NOT EXISTS (SELECT 1 FROM sqluice_limits AS z WHERE z.limit_key = '' AND z.name IN (sqluice_jobs.kind, @queue)
      AND (z.scope = 'queue' AND z.name = @queue AND z.running + z.starts > 0 OR z.scope <> 'queue' AND z.name = sqluice_jobs.kind))
RETURNING id, kind, payload, priority, run_after, start_by, attempt, uncounted, max_attempts, crashes, timeout,
          unique_key, request_id, user_id, tags, metadata, created_at;

-- name: PromoteDueJobs :execrows
-- PromoteDueJobs makes up to n scheduled jobs whose time has come claimable, the earliest first.
UPDATE sqluice_jobs SET updated_at = @now, status = 'pending'
WHERE id IN (
    SELECT d.id FROM sqluice_jobs AS d
    WHERE d.status = 'scheduled' AND d.limit_key IS NULL AND d.run_after <= @now
    ORDER BY d.run_after, d.id LIMIT CAST(@n AS BIGINT)
);

-- name: HasClaimableJobs :one
-- HasClaimableJobs counts the kinds, of a JSON list, that have a claimable job in a queue and are not paused in it, as the queue is not.
-- It looks at one index entry per kind, from the cursors on, as ClaimJobs does, or before those of a list called before.
SELECT COUNT(*) AS kinds FROM json_each(CAST(@kinds AS TEXT)) AS k
WHERE CAST(@cursors AS TEXT) = '' AND EXISTS (
    SELECT 1 FROM sqluice_jobs AS j
    WHERE j.status = 'pending' AND j.queue = @queue AND j.kind = k.value
)
AND /* claimable */ NOT EXISTS (SELECT 1 FROM sqluice_pauses AS h WHERE h.queue = @queue AND h.kind IN ('', k.value))
AND /* unlimited */ NOT EXISTS (SELECT 1 FROM sqluice_limits AS z WHERE z.limit_key = '' AND z.name IN (k.value, @queue)
    AND (z.scope = 'queue' AND z.name = @queue AND z.running + z.starts > 0 OR z.scope <> 'queue' AND z.name = k.value));

-- name: ListPendingQueues :many
-- ListPendingQueues lists the first n queues that have pending jobs, and tells which of them are not paused and have jobs of the
-- kinds, a JSON list. It skips from queue to queue in the index, so that its cost grows with these queues alone.
WITH RECURSIVE w (queue) AS (
    SELECT (SELECT MIN(f.queue) FROM sqluice_jobs AS f WHERE f.status = 'pending')
    UNION ALL
    SELECT (SELECT MIN(n.queue) FROM sqluice_jobs AS n WHERE n.status = 'pending' AND n.queue > w.queue)
    FROM w WHERE w.queue IS NOT NULL
    LIMIT CAST(@n AS BIGINT)
)
SELECT CAST(w.queue AS TEXT) AS queue, CAST(EXISTS (
    SELECT 1 FROM json_each(CAST(@kinds AS TEXT)) AS k WHERE EXISTS (
        SELECT 1 FROM sqluice_jobs AS j WHERE j.status = 'pending' AND j.queue = w.queue AND j.kind = k.value
    )
    AND /* claimable */ NOT EXISTS (SELECT 1 FROM sqluice_pauses AS h WHERE h.queue = w.queue AND h.kind IN ('', k.value))
    AND /* unlimited */ NOT EXISTS (SELECT 1 FROM sqluice_limits AS z WHERE z.limit_key = '' AND z.name IN (k.value, w.queue)
        AND (z.scope = 'queue' AND z.name = w.queue AND z.running + z.starts > 0 OR z.scope <> 'queue' AND z.name = k.value))
) AS BIGINT) AS claimable
FROM w WHERE w.queue IS NOT NULL;

-- name: ListClaimableQueues :many
-- ListClaimableQueues lists those queues of a JSON list of [queue, cursors] in which HasClaimableJobs would find jobs of the kinds,
-- a JSON list. Its cost grows with the list.
SELECT CAST(l.value->>0 AS TEXT) AS queue FROM json_each(CAST(@queues AS TEXT)) AS l
WHERE l.value->>1 = '' AND EXISTS (
    SELECT 1 FROM json_each(CAST(@kinds AS TEXT)) AS k WHERE EXISTS (
        SELECT 1 FROM sqluice_jobs AS j WHERE j.status = 'pending' AND j.queue = l.value->>0 AND j.kind = k.value
    )
    AND /* claimable */ NOT EXISTS (SELECT 1 FROM sqluice_pauses AS h WHERE h.queue = l.value->>0 AND h.kind IN ('', k.value))
    AND /* unlimited */ NOT EXISTS (SELECT 1 FROM sqluice_limits AS z WHERE z.limit_key = '' AND z.name IN (k.value, l.value->>0)
        AND (z.scope = 'queue' AND z.name = l.value->>0 AND z.running + z.starts > 0 OR z.scope <> 'queue' AND z.name = k.value))
);

-- name: HasUnfinishedJobs :one
-- HasUnfinishedJobs counts the pairs of a queue and a kind, of two JSON lists, that have a job that runs, or is due and not set aside.
-- It is one statement, so that a job that goes from one to the other is not missed.
SELECT COUNT(*) AS kinds FROM json_each(CAST(@queues AS TEXT)) AS l JOIN json_each(CAST(@kinds AS TEXT)) AS k
WHERE EXISTS (
    SELECT 1 FROM sqluice_jobs AS r WHERE r.status = 'running' AND r.finished_at IS NULL AND r.queue = l.value AND r.kind = k.value
      AND NOT EXISTS (SELECT 1 FROM sqluice_refusals AS e WHERE e.job_id = r.id AND e.action IN ('end', 'rescue') AND e.again_at > @now LIMIT 1 OFFSET 0)
)
OR (EXISTS (
    SELECT 1 FROM sqluice_jobs AS p
    WHERE p.status = 'pending' AND p.queue = l.value AND p.kind = k.value AND p.run_after <= @now
      AND NOT EXISTS (SELECT 1 FROM sqluice_refusals AS f WHERE f.job_id = p.id AND f.action IN ('claim', 'conflict') AND f.again_at > @now LIMIT 1 OFFSET 0)
) OR EXISTS (
    SELECT 1 FROM sqluice_jobs AS d
    WHERE d.status = 'scheduled' AND d.queue = l.value AND d.kind = k.value AND d.run_after <= @now
      AND NOT EXISTS (SELECT 1 FROM sqluice_refusals AS g WHERE g.job_id = d.id AND g.action IN ('promote', 'conflict') AND g.again_at > @now LIMIT 1 OFFSET 0)
))
AND /* claimable */ NOT EXISTS (SELECT 1 FROM sqluice_pauses AS h WHERE h.queue = l.value AND h.kind IN ('', k.value));
