-- name: PeekJobs :many
-- PeekJobs lists up to n due jobs of one queue that are not set aside, best first, as ClaimJobs would claim them. It locks none.
SELECT c.id, c.priority FROM jsonb_array_elements_text(CAST(CAST(@kinds AS TEXT) AS jsonb)) AS k (value)
CROSS JOIN LATERAL (
    SELECT j.id, j.priority, j.run_after FROM sqluice_jobs AS j
    WHERE j.status = 'pending' AND j.queue = @queue AND j.kind = k.value
      AND /* claimable */ NOT EXISTS (SELECT 1 FROM sqluice_pauses AS h WHERE h.queue = @queue AND h.kind = '')
      AND /* claimable */ NOT EXISTS (SELECT 1 FROM sqluice_pauses AS g WHERE g.queue = @queue AND g.kind = k.value)
      AND /* unlimited */ NOT EXISTS (SELECT 1 FROM sqluice_limits AS z WHERE z.limit_key = '' AND z.name IN (k.value, @queue)
          AND (z.scope = 'queue' AND z.name = @queue AND z.running + z.starts > 0 OR z.scope <> 'queue' AND z.name = k.value))
      AND j.run_after <= @now
      AND NOT EXISTS (SELECT 1 FROM sqluice_refusals AS r WHERE r.job_id = j.id AND r.action IN ('claim', 'conflict') AND r.again_at > @now LIMIT 1 OFFSET 0)
    ORDER BY j.priority DESC, j.run_after, j.id LIMIT @n
) AS c
ORDER BY c.priority DESC, c.run_after, c.id LIMIT @n;

-- name: PromoteListedJobs :execrows
-- PromoteListedJobs makes those jobs of a JSON list of ids claimable that are scheduled and due.
-- It does not wait for rows that are locked (on SQLite none are).
UPDATE sqluice_jobs SET updated_at = @now, status = 'pending'
WHERE id = ANY (ARRAY(
    SELECT j.id FROM sqluice_jobs AS j
    WHERE j.id = ANY (CAST((SELECT sqluice_ids(@ids)) AS BIGINT[]))
      AND COALESCE(j.status, '') = 'scheduled' AND j.run_after <= @now AND j.limit_key IS NULL
    FOR NO KEY UPDATE OF j SKIP LOCKED
));

-- name: PromoteListedLimitedJobs :many
-- PromoteListedLimitedJobs is PromoteLimitedJobs for those jobs of a JSON list of ids that are scheduled and due.
UPDATE sqluice_jobs SET updated_at = @now, status = 'waiting'
WHERE id = ANY (ARRAY(
    SELECT j.id FROM sqluice_jobs AS j
    WHERE j.id = ANY (CAST((SELECT sqluice_ids(@ids)) AS BIGINT[]))
      AND COALESCE(j.status, '') = 'scheduled' AND j.run_after <= @now AND j.limit_key IS NOT NULL
    FOR NO KEY UPDATE OF j SKIP LOCKED
))
RETURNING kind, CAST(limit_key AS TEXT) AS limit_key, queue, priority;
