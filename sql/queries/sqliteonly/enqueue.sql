-- name: EnqueueKeylessJob :execlastid
-- EnqueueKeylessJob adds one job and returns its id, as the statement of that name for both engines does. Without RETURNING and
-- without a SELECT, SQLite needs no temporary table. When the queue is closed by a move, the error is that kind is NULL.
INSERT INTO sqluice_jobs (kind, queue, payload, status, priority, run_after, start_by, max_attempts, timeout,
                  user_id, tags, metadata, created_at, updated_at)
VALUES (CASE WHEN EXISTS (SELECT 1 FROM sqluice_moves AS m) THEN NULL ELSE CAST(@kind AS TEXT) END,
        @queue, @payload, @status, @priority,
        @run_after, sqlc.narg('start_by'), @max_attempts, @timeout,
        sqlc.narg('user_id'), sqlc.narg('tags'), sqlc.narg('metadata'),
        @now, @now);

-- name: EnqueueClaimedJob :execlastid
-- EnqueueClaimedJob adds one job that a worker holds, and returns its id, as the statement of that name for both engines does.
-- When the worker is gone, the queue or the kind is paused, the queue closed by a move or not empty of the kinds, or a scheduled job is due, the error is
-- that updated_at is NULL.
INSERT INTO sqluice_jobs (worker_id, kind, queue, started_at, payload, status, priority, run_after, start_by, max_attempts, timeout,
                  user_id, tags, metadata, created_at, lease_until, attempt, updated_at)
VALUES (CAST(@worker_id AS BIGINT), @kind, @queue, CAST(@started_at AS BIGINT), @payload,
        'running', @priority, @run_after, sqlc.narg('start_by'), @max_attempts, @timeout,
        sqlc.narg('user_id'), sqlc.narg('tags'), sqlc.narg('metadata'),
        @now, CAST(@lease_until AS BIGINT), 1,
        CASE WHEN EXISTS (
                 SELECT 1 FROM json_each(CAST(@kinds AS TEXT)) AS k WHERE CAST(@cursors AS TEXT) = '' AND EXISTS (
                     SELECT 1 FROM sqluice_jobs AS j WHERE j.status = 'pending' AND j.queue = @queue AND j.kind = k.value
                 )
                 AND /* claimable */ NOT EXISTS (SELECT 1 FROM sqluice_pauses AS o WHERE o.queue = @queue AND o.kind IN ('', k.value))
                 AND /* unlimited */ NOT EXISTS (SELECT 1 FROM sqluice_limits AS z WHERE z.limit_key = '' AND z.name IN (k.value, @queue)
                     AND (z.scope = 'queue' AND z.name = @queue AND z.running + z.starts > 0 OR z.scope <> 'queue' AND z.name = k.value))
             )
               OR EXISTS (SELECT 1 FROM sqluice_moves AS m)
               OR NOT EXISTS (SELECT 1 FROM sqluice_workers AS w WHERE w.id = @worker_id AND w.ended_at IS NULL)
               OR /* claimable */ EXISTS (SELECT 1 FROM sqluice_pauses AS h WHERE h.queue = @queue AND h.kind IN ('', @kind))
               OR /* unlimited */ EXISTS (SELECT 1 FROM sqluice_limits AS z WHERE z.limit_key = '' AND z.name IN (@kind, @queue)
                   AND (z.scope = 'queue' AND z.name = @queue AND z.running + z.starts > 0 OR z.scope <> 'queue' AND z.name = @kind))
               OR EXISTS (SELECT 1 FROM sqluice_jobs AS d WHERE d.status = 'scheduled' AND d.limit_key IS NULL AND d.run_after <= @started_at)
             THEN NULL ELSE @started_at END);

-- name: GetClaimedJob :one
-- GetClaimedJob reads a job that EnqueueClaimedJob added, as ClaimJobs returns it. No row means that an application's trigger has made
-- it another worker's, another queue's or one for later.
SELECT j.id, j.kind, j.payload, j.priority, j.run_after, j.start_by, j.attempt, j.uncounted, j.max_attempts, j.crashes, j.timeout,
       j.unique_key, j.request_id, j.user_id, j.tags, j.metadata, j.created_at
FROM sqluice_jobs AS j
WHERE j.id = @id AND j.status = 'running' AND j.attempt = 1 AND j.worker_id = CAST(@worker_id AS BIGINT)
  AND j.kind = @kind AND j.queue = @queue AND j.run_after <= @started_at;

-- name: EnqueueJobs :execlastid
-- EnqueueJobs adds one job for each payload of a JSON list of strings and returns the last id. It adds all jobs, or none when
-- the queue is closed by a move.
INSERT INTO sqluice_jobs (kind, queue, payload, status, priority, run_after, start_by, max_attempts, timeout,
                  user_id, tags, metadata, created_at, updated_at)
SELECT @kind, @queue, e.value, @status, @priority,
       @run_after, sqlc.narg('start_by'), @max_attempts, @timeout,
       sqlc.narg('user_id'), sqlc.narg('tags'), sqlc.narg('metadata'),
       @now, @now
FROM json_each(CAST(@payloads AS TEXT)) AS e
WHERE NOT EXISTS (SELECT 1 FROM sqluice_moves AS m);
