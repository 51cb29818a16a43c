-- name: EnqueueJobs :many
-- EnqueueJobs adds one job for each payload of a JSON list of strings, alike in all else; ids rise in their order.
-- No row means that the queue is closed by a move.
INSERT INTO sqluice_jobs (kind, queue, payload, status, priority, run_after, start_by, max_attempts, timeout,
                  user_id, tags, metadata, created_at, updated_at)
SELECT @kind, @queue, e.value, @status, @priority,
       @run_after, sqlc.narg('start_by'), @max_attempts, @timeout,
       sqlc.narg('user_id'), sqlc.narg('tags'), sqlc.narg('metadata'),
       @now, @now
FROM json_each(CAST(@payloads AS TEXT)) AS e
WHERE NOT EXISTS (SELECT 1 FROM sqluice_moves AS m)
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
FROM json_each(CAST(@items AS TEXT)) AS e
WHERE NOT EXISTS (SELECT 1 FROM sqluice_moves AS m)
RETURNING id;

-- name: EnqueueClaimedJob :one
-- EnqueueClaimedJob adds a due job as EnqueueKeylessJob does, and hands it to a live worker at once, as ClaimJobs would.
-- No row means that the worker is gone, the queue or the kind is paused, the queue closed by a move or not empty of the kinds, a
-- JSON list, or that a scheduled job is due.
-- The row is as ClaimJobs returns it. On PostgreSQL its id is 0 when an application's trigger has made the job one that the worker would
-- not get: the caller must undo the insert then.
INSERT INTO sqluice_jobs (worker_id, kind, queue, started_at, payload, status, priority, run_after, start_by, max_attempts, timeout,
                  user_id, tags, metadata, created_at, lease_until, updated_at, attempt)
SELECT CAST(@worker_id AS BIGINT), @kind, @queue, CAST(@started_at AS BIGINT), @payload, 'running',
       @priority, @run_after, sqlc.narg('start_by'), @max_attempts,
       @timeout, sqlc.narg('user_id'), sqlc.narg('tags'),
       sqlc.narg('metadata'), @now, CAST(@lease_until AS BIGINT), @started_at, 1
WHERE NOT EXISTS (SELECT 1 FROM sqluice_moves AS m)
  AND EXISTS (SELECT 1 FROM sqluice_workers AS w WHERE w.id = @worker_id AND w.ended_at IS NULL)
  AND /* claimable */ NOT EXISTS (SELECT 1 FROM sqluice_pauses AS h WHERE h.queue = @queue AND h.kind IN ('', @kind))
  AND /* unlimited */ NOT EXISTS (SELECT 1 FROM sqluice_limits AS z WHERE z.limit_key = '' AND z.name IN (@kind, @queue)
      AND (z.scope = 'queue' AND z.name = @queue AND z.running + z.starts > 0 OR z.scope <> 'queue' AND z.name = @kind))
  AND COALESCE((SELECT MIN(d.run_after) FROM sqluice_jobs AS d WHERE d.status = 'scheduled' AND d.limit_key IS NULL), 9223372036854775807)
      > @started_at
  AND NOT EXISTS (
    SELECT 1 FROM json_each(CAST(@kinds AS TEXT)) AS k WHERE EXISTS (
        SELECT 1 FROM sqluice_jobs AS j WHERE j.status = 'pending' AND j.queue = @queue AND j.kind = k.value
    )
    AND /* claimable */ NOT EXISTS (SELECT 1 FROM sqluice_pauses AS o WHERE o.queue = @queue AND o.kind IN ('', k.value))
    AND /* unlimited */ NOT EXISTS (SELECT 1 FROM sqluice_limits AS z WHERE z.limit_key = '' AND z.name IN (k.value, @queue)
        AND (z.scope = 'queue' AND z.name = @queue AND z.running + z.starts > 0 OR z.scope <> 'queue' AND z.name = k.value))
  )
  AND CAST(@cursors AS TEXT) = '' /* they are for PostgreSQL */
RETURNING id, kind, payload, priority, run_after, start_by, attempt, uncounted, max_attempts, crashes, timeout,
          unique_key, request_id, user_id, tags, metadata, created_at;

-- name: ImportJobs :execrows
-- ImportJobs adds rows as they are: a JSON list of lists, each in the order of the table's columns.
INSERT INTO sqluice_jobs (id, queue, kind, payload, max_attempts, timeout, status, priority, run_after, start_by,
                  successor_at, attempt, uncounted, crashes, worker_id, lease_until, cancel_requested_at, unique_key,
                  request_id, user_id, tags, metadata, progress, result, last_error, created_at, started_at,
                  finished_at, updated_at, prefetched, limit_key)
SELECT e.value->>0, e.value->>1, e.value->>2, e.value->>3, e.value->>4, e.value->>5, e.value->>6, e.value->>7,
       e.value->>8, e.value->>9, e.value->>10, e.value->>11, e.value->>12, e.value->>13, e.value->>14, e.value->>15,
       e.value->>16, e.value->>17, e.value->>18, e.value->>19, e.value->>20, e.value->>21, e.value->>22, e.value->>23,
       e.value->>24, e.value->>25, e.value->>26, e.value->>27, e.value->>28, e.value->>29, e.value->>30
FROM json_each(CAST(@items AS TEXT)) AS e;
