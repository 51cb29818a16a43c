-- name: ClaimJobs :many
-- ClaimJobs hands up to n due jobs of one queue to a live worker, best first by priority, run_after, id.
-- Rows come back in no order. For each kind it reads at most n index entries, whatever else the table holds.
-- It claims none while a scheduled job of any queue is due before none_due_before; 0 means that this does not matter.
-- cursors, when not empty, say where to begin, on PostgreSQL. prefetch is 1 when n is more than the free slots.
UPDATE sqluice_jobs SET updated_at = @now, status = 'running', attempt = attempt + 1,
                worker_id = CAST(@worker_id AS BIGINT), lease_until = CAST(@lease_until AS BIGINT), started_at = @now, finished_at = NULL,
                prefetched = CASE WHEN CAST(@prefetch AS BIGINT) = 1 THEN attempt + 1 END
WHERE id = ANY (ARRAY( /* and not IN, so that no plan reads the whole table */
    SELECT c.id FROM ( /* Index entries of jobs that were claimed before are in the way until they are vacuumed, which
           an old transaction anywhere prevents. So cursors, when not empty, say where to begin: 'between' are [kind, priority,
           priority] whose jobs are looked for between the two, 'from' are [kind, priority, run_after, id] to begin with.
           They name all kinds. Without them those of the list are looked for at all priorities. */
        SELECT j.id, j.priority, j.run_after
        FROM (
            SELECT COALESCE(r.value->>0, r.value#>>'{}') AS kind, COALESCE(CAST(r.value->>1 AS BIGINT), -2147483648) AS low,
                   COALESCE(CAST(r.value->>2 AS BIGINT), 2147483647) AS high
            FROM (SELECT CAST(CAST(@kinds AS TEXT) AS jsonb) AS kinds, CAST(NULLIF(CAST(@cursors AS TEXT), '') AS jsonb) AS cursors) AS p
            CROSS JOIN LATERAL jsonb_array_elements(COALESCE(p.cursors->'between', p.kinds)) AS r (value)
        ) AS b
        CROSS JOIN LATERAL (
            SELECT i.id, i.priority, i.run_after FROM sqluice_jobs AS i
            WHERE i.status = 'pending' AND i.queue = @queue AND i.kind = b.kind
              AND /* claimable */ NOT EXISTS (SELECT 1 FROM sqluice_pauses AS h WHERE h.queue = @queue AND h.kind = '')
              AND /* claimable */ NOT EXISTS (SELECT 1 FROM sqluice_pauses AS g WHERE g.queue = @queue AND g.kind = b.kind)
              AND /* unlimited */ NOT EXISTS (SELECT 1 FROM sqluice_limits AS z WHERE z.limit_key = '' AND z.name IN (b.kind, @queue)
                  AND (z.scope = 'queue' AND z.name = @queue AND z.running + z.starts > 0 OR z.scope <> 'queue' AND z.name = b.kind))
              AND i.priority > b.low AND i.priority < b.high
              AND i.run_after <= @now
            ORDER BY i.priority DESC, i.run_after, i.id LIMIT @n
            FOR NO KEY UPDATE SKIP LOCKED
        ) AS j
        UNION ALL
        SELECT j.id, j.priority, j.run_after
        FROM jsonb_array_elements(CAST(NULLIF(@cursors, '') AS jsonb)->'from') AS f (value)
        CROSS JOIN LATERAL (
            SELECT i.id, i.priority, i.run_after FROM sqluice_jobs AS i
            WHERE i.status = 'pending' AND i.queue = @queue AND i.kind = f.value->>0
              AND /* claimable */ NOT EXISTS (SELECT 1 FROM sqluice_pauses AS h WHERE h.queue = @queue AND h.kind = '')
              AND /* claimable */ NOT EXISTS (SELECT 1 FROM sqluice_pauses AS g WHERE g.queue = @queue AND g.kind = f.value->>0)
              AND /* unlimited */ NOT EXISTS (SELECT 1 FROM sqluice_limits AS z WHERE z.limit_key = '' AND z.name IN (f.value->>0, @queue)
                  AND (z.scope = 'queue' AND z.name = @queue AND z.running + z.starts > 0 OR z.scope <> 'queue' AND z.name = f.value->>0))
              AND i.priority = CAST(f.value->>1 AS BIGINT)
              AND (i.run_after, i.id) >= (CAST(f.value->>2 AS BIGINT), CAST(f.value->>3 AS BIGINT))
              AND i.run_after <= @now
            ORDER BY i.run_after, i.id LIMIT @n
            FOR NO KEY UPDATE SKIP LOCKED
        ) AS j
    ) AS c
    WHERE EXISTS (SELECT 1 FROM sqluice_workers AS w WHERE w.id = @worker_id AND w.ended_at IS NULL)
      AND (CAST(@none_due_before AS BIGINT) = 0 OR @none_due_before
           <= COALESCE((SELECT d.run_after FROM sqluice_jobs AS d WHERE d.status = 'scheduled' AND d.limit_key IS NULL ORDER BY d.run_after LIMIT 1), 9223372036854775807))
    ORDER BY c.priority DESC, c.run_after, c.id LIMIT @n
))
RETURNING id, kind, payload, priority, run_after, start_by, attempt, uncounted, max_attempts, crashes, timeout,
          unique_key, request_id, user_id, tags, metadata, created_at;

-- name: ClaimListedJobs :many
-- ClaimListedJobs hands those jobs of a JSON list of ids to a live worker that ClaimJobs might. The rows are as ClaimJobs returns
-- them. It does not wait for rows that are locked (on SQLite none are).
UPDATE sqluice_jobs SET updated_at = @now, status = 'running', attempt = attempt + 1,
                worker_id = CAST(@worker_id AS BIGINT), lease_until = CAST(@lease_until AS BIGINT), started_at = @now, finished_at = NULL,
                prefetched = CASE WHEN CAST(@prefetch AS BIGINT) = 1 THEN attempt + 1 END
WHERE id = ANY (ARRAY(
    SELECT j.id FROM sqluice_jobs AS j
    WHERE j.id = ANY (CAST((SELECT sqluice_ids(@ids)) AS BIGINT[]))
      AND COALESCE(j.status, '') = 'pending' AND COALESCE(j.queue, '') = @queue AND j.run_after <= @now
      AND EXISTS (SELECT 1 FROM sqluice_workers AS w WHERE w.id = @worker_id AND w.ended_at IS NULL)
      AND /* claimable */ NOT EXISTS (SELECT 1 FROM sqluice_pauses AS h WHERE h.queue = @queue AND h.kind = '')
      AND /* claimable */ NOT EXISTS (SELECT 1 FROM sqluice_pauses AS g WHERE g.queue = @queue AND g.kind = COALESCE(j.kind, ''))
      AND /* unlimited */ NOT EXISTS (SELECT 1 FROM sqluice_limits AS z WHERE z.limit_key = '' AND z.name IN (COALESCE(j.kind, ''), @queue)
          AND (z.scope = 'queue' AND z.name = @queue AND z.running + z.starts > 0 OR z.scope <> 'queue' AND z.name = COALESCE(j.kind, '')))
    FOR NO KEY UPDATE OF j SKIP LOCKED
))
RETURNING id, kind, payload, priority, run_after, start_by, attempt, uncounted, max_attempts, crashes, timeout,
          unique_key, request_id, user_id, tags, metadata, created_at;

-- name: PromoteDueJobs :execrows
-- PromoteDueJobs makes up to n scheduled jobs whose time has come claimable, the earliest first.
UPDATE sqluice_jobs SET updated_at = @now, status = 'pending'
WHERE id = ANY (ARRAY(
    SELECT d.id FROM sqluice_jobs AS d
    WHERE d.status = 'scheduled' AND d.limit_key IS NULL AND d.run_after <= @now
    ORDER BY d.run_after, d.id LIMIT @n
    FOR NO KEY UPDATE SKIP LOCKED
));

-- name: HasClaimableJobs :one
-- HasClaimableJobs counts the kinds, of a JSON list, that have a claimable job in a queue and are not paused in it, as the queue is not.
-- It looks at one index entry per kind, from the cursors on, as ClaimJobs does, or before those of a list called before.
SELECT COUNT(*) AS kinds FROM (
    SELECT j.id FROM (
        SELECT COALESCE(r.value->>0, r.value#>>'{}') AS kind, COALESCE(CAST(r.value->>1 AS BIGINT), -2147483648) AS low,
               COALESCE(CAST(r.value->>2 AS BIGINT), 2147483647) AS high
        FROM (SELECT CAST(CAST(@kinds AS TEXT) AS jsonb) AS kinds, CAST(NULLIF(CAST(@cursors AS TEXT), '') AS jsonb) AS cursors) AS p
        CROSS JOIN LATERAL jsonb_array_elements(COALESCE(p.cursors->'between', p.kinds)) AS r (value)
    ) AS b
    CROSS JOIN LATERAL (
        SELECT i.id FROM sqluice_jobs AS i
        WHERE i.status = 'pending' AND i.queue = @queue AND i.kind = b.kind
          AND /* claimable */ NOT EXISTS (SELECT 1 FROM sqluice_pauses AS h WHERE h.queue = @queue AND h.kind = '')
          AND /* claimable */ NOT EXISTS (SELECT 1 FROM sqluice_pauses AS g WHERE g.queue = @queue AND g.kind = b.kind)
          AND /* unlimited */ NOT EXISTS (SELECT 1 FROM sqluice_limits AS z WHERE z.limit_key = '' AND z.name IN (b.kind, @queue)
              AND (z.scope = 'queue' AND z.name = @queue AND z.running + z.starts > 0 OR z.scope <> 'queue' AND z.name = b.kind))
          AND i.priority > b.low AND i.priority < b.high
        LIMIT 1
    ) AS j
    UNION ALL
    SELECT j.id FROM jsonb_array_elements(CAST(NULLIF(@cursors, '') AS jsonb)->'from') AS f (value)
    CROSS JOIN LATERAL (
        SELECT i.id FROM sqluice_jobs AS i
        WHERE i.status = 'pending' AND i.queue = @queue AND i.kind = f.value->>0
          AND /* claimable */ NOT EXISTS (SELECT 1 FROM sqluice_pauses AS h WHERE h.queue = @queue AND h.kind = '')
          AND /* claimable */ NOT EXISTS (SELECT 1 FROM sqluice_pauses AS g WHERE g.queue = @queue AND g.kind = f.value->>0)
          AND /* unlimited */ NOT EXISTS (SELECT 1 FROM sqluice_limits AS z WHERE z.limit_key = '' AND z.name IN (f.value->>0, @queue)
              AND (z.scope = 'queue' AND z.name = @queue AND z.running + z.starts > 0 OR z.scope <> 'queue' AND z.name = f.value->>0))
          AND i.priority = CAST(f.value->>1 AS BIGINT)
          AND (i.run_after, i.id) >= (CAST(f.value->>2 AS BIGINT), CAST(f.value->>3 AS BIGINT))
        LIMIT 1
    ) AS j
    UNION ALL
    SELECT j.id FROM jsonb_array_elements(CAST(NULLIF(@cursors, '') AS jsonb)->'before') AS a (value)
    CROSS JOIN LATERAL (
        SELECT i.id FROM sqluice_jobs AS i
        WHERE i.status = 'pending' AND i.queue = @queue AND i.kind = a.value->>0
          AND /* claimable */ NOT EXISTS (SELECT 1 FROM sqluice_pauses AS h WHERE h.queue = @queue AND h.kind = '')
          AND /* claimable */ NOT EXISTS (SELECT 1 FROM sqluice_pauses AS g WHERE g.queue = @queue AND g.kind = a.value->>0)
          AND /* unlimited */ NOT EXISTS (SELECT 1 FROM sqluice_limits AS z WHERE z.limit_key = '' AND z.name IN (a.value->>0, @queue)
              AND (z.scope = 'queue' AND z.name = @queue AND z.running + z.starts > 0 OR z.scope <> 'queue' AND z.name = a.value->>0))
          AND i.priority = CAST(a.value->>1 AS BIGINT)
          AND (i.run_after, i.id) < (CAST(a.value->>2 AS BIGINT), CAST(a.value->>3 AS BIGINT))
        LIMIT 1
    ) AS j
) AS c;

-- name: ListPendingQueues :many
-- ListPendingQueues lists the first n queues that have pending jobs, and tells which of them are not paused and have jobs of the
-- kinds, a JSON list. It skips from queue to queue in the index, so that its cost grows with these queues alone.
WITH RECURSIVE w (queue, n) AS (
    (SELECT f.queue, 1 FROM sqluice_jobs AS f WHERE f.status = 'pending' ORDER BY f.queue LIMIT 1)
    UNION ALL
    SELECT i.queue, w.n + 1 FROM w CROSS JOIN LATERAL (
        SELECT x.queue FROM sqluice_jobs AS x WHERE x.status = 'pending' AND x.queue > w.queue ORDER BY x.queue LIMIT 1
    ) AS i
    WHERE w.n < CAST(@n AS BIGINT)
)
SELECT w.queue AS queue, CAST(CASE WHEN EXISTS (
    SELECT 1 FROM jsonb_array_elements_text(CAST(CAST(@kinds AS TEXT) AS jsonb)) AS k (value) CROSS JOIN LATERAL (
        SELECT i.id FROM sqluice_jobs AS i WHERE i.status = 'pending' AND i.queue = w.queue AND i.kind = k.value
          AND /* claimable */ NOT EXISTS (SELECT 1 FROM sqluice_pauses AS h WHERE h.queue = w.queue AND h.kind = '')
          AND /* claimable */ NOT EXISTS (SELECT 1 FROM sqluice_pauses AS g WHERE g.queue = w.queue AND g.kind = k.value)
          AND /* unlimited */ NOT EXISTS (SELECT 1 FROM sqluice_limits AS z WHERE z.limit_key = '' AND z.name IN (k.value, w.queue)
              AND (z.scope = 'queue' AND z.name = w.queue AND z.running + z.starts > 0 OR z.scope <> 'queue' AND z.name = k.value)) LIMIT 1
    ) AS j
) THEN 1 ELSE 0 END AS BIGINT) AS claimable
FROM w;

-- name: ListClaimableQueues :many
-- ListClaimableQueues lists those queues of a JSON list of [queue, cursors] in which HasClaimableJobs would find jobs of the kinds,
-- a JSON list. Its cost grows with the list.
SELECT CAST(l.queue AS TEXT) AS queue
FROM (
    SELECT e.value->>0 AS queue, CAST(NULLIF(e.value->>1, '') AS jsonb) AS cursors
    FROM jsonb_array_elements(CAST(CAST(@queues AS TEXT) AS jsonb)) AS e (value)
    OFFSET 0
) AS l
WHERE (EXISTS (
    SELECT 1 FROM (
        SELECT COALESCE(r.value->>0, r.value#>>'{}') AS kind, COALESCE(CAST(r.value->>1 AS BIGINT), -2147483648) AS low,
               COALESCE(CAST(r.value->>2 AS BIGINT), 2147483647) AS high
        FROM jsonb_array_elements(COALESCE(l.cursors->'between', CAST(CAST(@kinds AS TEXT) AS jsonb))) AS r (value)
    ) AS b
    CROSS JOIN LATERAL (
        SELECT i.id FROM sqluice_jobs AS i
        WHERE i.status = 'pending' AND i.queue = l.queue AND i.kind = b.kind
          AND /* claimable */ NOT EXISTS (SELECT 1 FROM sqluice_pauses AS h WHERE h.queue = l.queue AND h.kind = '')
          AND /* claimable */ NOT EXISTS (SELECT 1 FROM sqluice_pauses AS g WHERE g.queue = l.queue AND g.kind = b.kind)
          AND /* unlimited */ NOT EXISTS (SELECT 1 FROM sqluice_limits AS z WHERE z.limit_key = '' AND z.name IN (b.kind, l.queue)
              AND (z.scope = 'queue' AND z.name = l.queue AND z.running + z.starts > 0 OR z.scope <> 'queue' AND z.name = b.kind))
          AND i.priority > b.low AND i.priority < b.high
        LIMIT 1
    ) AS j
  ) OR EXISTS (
    SELECT 1 FROM jsonb_array_elements(l.cursors->'from') AS f (value)
    CROSS JOIN LATERAL (
        SELECT i.id FROM sqluice_jobs AS i
        WHERE i.status = 'pending' AND i.queue = l.queue AND i.kind = f.value->>0
          AND /* claimable */ NOT EXISTS (SELECT 1 FROM sqluice_pauses AS h WHERE h.queue = l.queue AND h.kind = '')
          AND /* claimable */ NOT EXISTS (SELECT 1 FROM sqluice_pauses AS g WHERE g.queue = l.queue AND g.kind = f.value->>0)
          AND /* unlimited */ NOT EXISTS (SELECT 1 FROM sqluice_limits AS z WHERE z.limit_key = '' AND z.name IN (f.value->>0, l.queue)
              AND (z.scope = 'queue' AND z.name = l.queue AND z.running + z.starts > 0 OR z.scope <> 'queue' AND z.name = f.value->>0))
          AND i.priority = CAST(f.value->>1 AS BIGINT)
          AND (i.run_after, i.id) >= (CAST(f.value->>2 AS BIGINT), CAST(f.value->>3 AS BIGINT))
        LIMIT 1
    ) AS j
  ));

-- name: HasUnfinishedJobs :one
-- HasUnfinishedJobs counts the pairs of a queue and a kind, of two JSON lists, that have a job that runs, or is due and not set aside.
-- It is one statement, so that a job that goes from one to the other is not missed.
SELECT COUNT(*) AS kinds FROM jsonb_array_elements_text(CAST(CAST(@queues AS TEXT) AS jsonb)) AS l (value)
CROSS JOIN jsonb_array_elements_text(CAST(CAST(@kinds AS TEXT) AS jsonb)) AS k (value)
CROSS JOIN LATERAL (
    (SELECT r.id FROM sqluice_jobs AS r WHERE r.status = 'running' AND r.finished_at IS NULL AND r.queue = l.value AND r.kind = k.value
      AND NOT EXISTS (SELECT 1 FROM sqluice_refusals AS e WHERE e.job_id = r.id AND e.action IN ('end', 'rescue') AND e.again_at > @now LIMIT 1 OFFSET 0) LIMIT 1)
    UNION ALL
    (SELECT p.id FROM sqluice_jobs AS p
     WHERE p.status = 'pending' AND p.queue = l.value AND p.kind = k.value AND p.run_after <= @now
      AND NOT EXISTS (SELECT 1 FROM sqluice_refusals AS f WHERE f.job_id = p.id AND f.action IN ('claim', 'conflict') AND f.again_at > @now LIMIT 1 OFFSET 0)
       AND /* claimable */ NOT EXISTS (SELECT 1 FROM sqluice_pauses AS h WHERE h.queue = l.value AND h.kind = '')
       AND /* claimable */ NOT EXISTS (SELECT 1 FROM sqluice_pauses AS g WHERE g.queue = l.value AND g.kind = k.value) LIMIT 1)
    UNION ALL
    (SELECT d.id FROM (
         SELECT s.id, s.queue, s.kind, s.run_after FROM sqluice_jobs AS s
         WHERE s.status = 'scheduled' /* in a form that only sqluice_jobs_scheduled serves: the first job of the queue and the kind, or a later one */
           AND (s.queue, s.kind, s.run_after) >= (l.value, k.value, 0)
           AND NOT EXISTS (SELECT 1 FROM sqluice_refusals AS g WHERE g.job_id = s.id AND g.action IN ('promote', 'conflict') AND g.again_at > @now LIMIT 1 OFFSET 0)
         ORDER BY s.queue, s.kind, s.run_after LIMIT 1
     ) AS d
     WHERE d.queue = l.value AND d.kind = k.value AND d.run_after <= CAST(@now AS BIGINT)
       AND /* claimable */ NOT EXISTS (SELECT 1 FROM sqluice_pauses AS o WHERE o.queue = l.value AND o.kind = '')
       AND /* claimable */ NOT EXISTS (SELECT 1 FROM sqluice_pauses AS g WHERE g.queue = l.value AND g.kind = k.value))
    LIMIT 1
) AS c;
