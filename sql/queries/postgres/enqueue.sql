-- name: EnqueueJobs :many
-- EnqueueJobs adds one job for each payload of a JSON list of strings, alike in all else; ids rise in their order.
-- No row means that the queue is closed by a move.
INSERT INTO sqluice_jobs (kind, queue, payload, status, priority, run_after, start_by, max_attempts, timeout,
                  user_id, tags, metadata, created_at, updated_at)
SELECT @kind, @queue, e.value, @status, @priority,
       @run_after, sqlc.narg('start_by'), @max_attempts, @timeout,
       sqlc.narg('user_id'), sqlc.narg('tags'), sqlc.narg('metadata'),
       @now, @now
FROM jsonb_array_elements_text(CAST(CAST(@payloads AS TEXT) AS jsonb)) WITH ORDINALITY AS e (value, n)
WHERE NOT EXISTS (SELECT 1 FROM sqluice_moves AS m)
ORDER BY e.n
RETURNING id;

-- name: EnqueueLimitedJobs :many
-- EnqueueLimitedJobs adds one job for each item of a JSON list of [payload, limit key], alike in all else; ids rise in their order.
-- No row means that the queue is closed by a move.
INSERT INTO sqluice_jobs (kind, queue, payload, limit_key, status, priority, run_after, start_by, max_attempts, timeout,
                  user_id, tags, metadata, created_at, updated_at)
SELECT @kind, @queue, e.value->>0, e.value->>1, @status, @priority,
       @run_after, sqlc.narg('start_by'), @max_attempts, @timeout,
       sqlc.narg('user_id'), sqlc.narg('tags'), sqlc.narg('metadata'),
       @now, @now
FROM jsonb_array_elements(CAST(CAST(@items AS TEXT) AS jsonb)) WITH ORDINALITY AS e (value, n)
WHERE NOT EXISTS (SELECT 1 FROM sqluice_moves AS m)
ORDER BY e.n
RETURNING id;

-- name: EnqueueClaimedJob :one
-- EnqueueClaimedJob adds a due job as EnqueueKeylessJob does, and hands it to a live worker at once, as ClaimJobs would.
-- No row means that the worker is gone, the queue or the kind is paused, the queue closed by a move or not empty of the kinds, a
-- JSON list, or that a scheduled job is due.
-- The row is as ClaimJobs returns it. On PostgreSQL its id is 0 when an application's trigger has made the job one that the worker would
-- not get: the caller must undo the insert then.
INSERT INTO sqluice_jobs (worker_id, kind, queue, started_at, payload, status, priority, run_after, start_by, max_attempts, timeout,
                  user_id, tags, metadata, created_at, lease_until, updated_at, attempt)
SELECT CAST(@worker_id AS BIGINT), CAST(@kind AS TEXT), CAST(@queue AS TEXT), CAST(@started_at AS BIGINT), @payload, 'running',
       @priority, @run_after, sqlc.narg('start_by'), @max_attempts,
       @timeout, sqlc.narg('user_id'), sqlc.narg('tags'),
       sqlc.narg('metadata'), @now, CAST(@lease_until AS BIGINT), @started_at, 1
WHERE NOT EXISTS (SELECT 1 FROM sqluice_moves AS m)
  AND EXISTS (SELECT 1 FROM sqluice_workers AS w WHERE w.id = @worker_id AND w.ended_at IS NULL)
  AND /* claimable */ NOT EXISTS (SELECT 1 FROM sqluice_pauses AS h WHERE h.queue = @queue AND h.kind = '')
  AND /* claimable */ NOT EXISTS (SELECT 1 FROM sqluice_pauses AS g WHERE g.queue = @queue AND g.kind = @kind)
  AND /* unlimited */ NOT EXISTS (SELECT 1 FROM sqluice_limits AS z WHERE z.limit_key = '' AND z.name IN (@kind, @queue)
      AND (z.scope = 'queue' AND z.name = @queue AND z.running + z.starts > 0 OR z.scope <> 'queue' AND z.name = @kind))
  AND COALESCE((SELECT d.run_after FROM sqluice_jobs AS d WHERE d.status = 'scheduled' AND d.limit_key IS NULL ORDER BY d.run_after LIMIT 1), 9223372036854775807)
      > @started_at
  AND NOT EXISTS (
    SELECT 1 FROM (
        SELECT COALESCE(r.value->>0, r.value#>>'{}') AS kind, COALESCE(CAST(r.value->>1 AS BIGINT), -2147483648) AS low,
               COALESCE(CAST(r.value->>2 AS BIGINT), 2147483647) AS high
        FROM (SELECT CAST(CAST(@kinds AS TEXT) AS jsonb) AS kinds, CAST(NULLIF(CAST(@cursors AS TEXT), '') AS jsonb) AS cursors) AS p
        CROSS JOIN LATERAL jsonb_array_elements(COALESCE(p.cursors->'between', p.kinds)) AS r (value)
    ) AS b
    CROSS JOIN LATERAL (
        SELECT i.id FROM sqluice_jobs AS i
        WHERE i.status = 'pending' AND i.queue = @queue AND i.kind = b.kind
          AND /* claimable */ NOT EXISTS (SELECT 1 FROM sqluice_pauses AS o WHERE o.queue = @queue AND o.kind = '')
          AND /* claimable */ NOT EXISTS (SELECT 1 FROM sqluice_pauses AS g WHERE g.queue = @queue AND g.kind = b.kind)
          AND /* unlimited */ NOT EXISTS (SELECT 1 FROM sqluice_limits AS z WHERE z.limit_key = '' AND z.name IN (b.kind, @queue)
              AND (z.scope = 'queue' AND z.name = @queue AND z.running + z.starts > 0 OR z.scope <> 'queue' AND z.name = b.kind))
          AND i.priority > b.low AND i.priority < b.high
        LIMIT 1
    ) AS j
  )
  AND NOT EXISTS (
    SELECT 1 FROM jsonb_array_elements(CAST(NULLIF(@cursors, '') AS jsonb)->'from') AS f (value)
    CROSS JOIN LATERAL (
        SELECT i.id FROM sqluice_jobs AS i
        WHERE i.status = 'pending' AND i.queue = @queue AND i.kind = f.value->>0
          AND /* claimable */ NOT EXISTS (SELECT 1 FROM sqluice_pauses AS o WHERE o.queue = @queue AND o.kind = '')
          AND /* claimable */ NOT EXISTS (SELECT 1 FROM sqluice_pauses AS g WHERE g.queue = @queue AND g.kind = f.value->>0)
          AND /* unlimited */ NOT EXISTS (SELECT 1 FROM sqluice_limits AS z WHERE z.limit_key = '' AND z.name IN (f.value->>0, @queue)
              AND (z.scope = 'queue' AND z.name = @queue AND z.running + z.starts > 0 OR z.scope <> 'queue' AND z.name = f.value->>0))
          AND i.priority = CAST(f.value->>1 AS BIGINT)
          AND (i.run_after, i.id) >= (CAST(f.value->>2 AS BIGINT), CAST(f.value->>3 AS BIGINT))
        LIMIT 1
    ) AS j
  )
RETURNING CAST(CASE WHEN status = 'running' AND attempt = 1 AND worker_id = @worker_id AND kind = @kind
                     AND queue = @queue AND run_after <= @started_at THEN id ELSE 0 END AS BIGINT) AS id,
          kind, payload, priority, run_after, start_by, attempt, uncounted, max_attempts, crashes, timeout,
          unique_key, request_id, user_id, tags, metadata, created_at;

-- name: ImportJobs :execrows
-- ImportJobs adds rows as they are: a JSON list of lists, each in the order of the table's columns.
INSERT INTO sqluice_jobs (id, queue, kind, payload, max_attempts, timeout, status, priority, run_after, start_by,
                  successor_at, attempt, uncounted, crashes, worker_id, lease_until, cancel_requested_at, unique_key,
                  request_id, user_id, tags, metadata, progress, result, last_error, created_at, started_at,
                  finished_at, updated_at, prefetched, limit_key)
OVERRIDING SYSTEM VALUE
SELECT CAST(e.value->>0 AS BIGINT), e.value->>1, e.value->>2, e.value->>3, CAST(e.value->>4 AS BIGINT),
       CAST(e.value->>5 AS BIGINT), e.value->>6, CAST(e.value->>7 AS BIGINT), CAST(e.value->>8 AS BIGINT),
       CAST(e.value->>9 AS BIGINT), CAST(e.value->>10 AS BIGINT), CAST(e.value->>11 AS BIGINT),
       CAST(e.value->>12 AS BIGINT), CAST(e.value->>13 AS BIGINT), CAST(e.value->>14 AS BIGINT),
       CAST(e.value->>15 AS BIGINT), CAST(e.value->>16 AS BIGINT), e.value->>17, e.value->>18, e.value->>19,
       e.value->>20, e.value->>21, e.value->>22, e.value->>23, e.value->>24, CAST(e.value->>25 AS BIGINT),
       CAST(e.value->>26 AS BIGINT), CAST(e.value->>27 AS BIGINT), CAST(e.value->>28 AS BIGINT), CAST(e.value->>29 AS BIGINT), e.value->>30
FROM jsonb_array_elements(CAST(CAST(@items AS TEXT) AS jsonb)) AS e (value);
