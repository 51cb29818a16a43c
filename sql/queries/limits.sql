-- name: SetLimit :exec
-- SetLimit sets a limit, in place of the one that was set before.
INSERT INTO sqluice_limits (scope, name, limit_key, running, starts, period, burst, weight, depth, on_full, ordered, set_at)
VALUES (@scope, @name, @limit_key, @running, @starts, @period, @burst, @weight, @depth, @on_full, @ordered, @now)
ON CONFLICT (scope, name, limit_key) DO UPDATE SET running = excluded.running, starts = excluded.starts, period = excluded.period,
    burst = excluded.burst, weight = excluded.weight, depth = excluded.depth, on_full = excluded.on_full, ordered = excluded.ordered,
    set_at = excluded.set_at;

-- name: DeleteLimit :execrows
-- DeleteLimit removes a limit that SetLimit has set.
DELETE FROM sqluice_limits WHERE scope = @scope AND name = @name AND limit_key = @limit_key AND set_at > 0;

-- name: ListWholeLimits :many
-- ListWholeLimits lists the limits of whole kinds and queues. set_at is 0 for a declared one.
SELECT z.* FROM sqluice_limits AS z WHERE z.scope IN ('total', 'queue') AND z.limit_key = '' ORDER BY z.scope, z.name;

-- name: DeclareLimit :execrows
-- DeclareLimit writes the limit of a whole kind or queue that programs declare. Zero rows mean that SetLimit has set one, which stays.
INSERT INTO sqluice_limits (scope, name, limit_key, running, starts, period, burst, weight, depth, on_full, ordered, set_at)
VALUES (@scope, @name, '', @running, @starts, @period, @burst, @weight, @depth, @on_full, @ordered, 0)
ON CONFLICT (scope, name, limit_key) DO UPDATE SET running = excluded.running, starts = excluded.starts, period = excluded.period,
    burst = excluded.burst, weight = excluded.weight, depth = excluded.depth, on_full = excluded.on_full, ordered = excluded.ordered
WHERE sqluice_limits.set_at = 0;

-- name: RestoreLimit :execrows
-- RestoreLimit puts the limit of a whole kind or queue that programs declare in the place of one that SetLimit has set, in the same row: a
-- claim that waits for its lock has it afterwards.
UPDATE sqluice_limits SET running = @running, starts = @starts, period = @period, burst = @burst, weight = @weight, depth = @depth,
    on_full = @on_full, ordered = @ordered, set_at = 0
WHERE scope = @scope AND name = @name AND limit_key = '' AND set_at > 0;

-- name: UndeclareLimit :execrows
-- UndeclareLimit removes the limit of a whole kind or queue that programs declared. Zero rows mean that there was none.
DELETE FROM sqluice_limits WHERE scope = @scope AND name = @name AND limit_key = '' AND set_at = 0;

-- name: GetQueueDepth :many
-- GetQueueDepth returns the bound of a queue's backlog, and what an enqueue beyond it does. It returns no row when the queue has none.
SELECT s.depth, s.on_full FROM sqluice_limits AS s WHERE s.scope = 'queue' AND s.name = @queue AND s.limit_key = '' AND s.depth > 0;

-- name: ListLimits :many
-- ListLimits lists set and declared limits by scope, name and key, with the number of running and of waiting jobs that they bound, of a queue
-- with the pending ones. set_at is 0 for a declared limit.
SELECT i.scope, i.name, i.limit_key, i.running, i.starts, i.period, i.burst, i.weight, i.depth, i.on_full, i.ordered, i.set_at,
       CAST(CASE i.scope WHEN 'queue' THEN (SELECT COUNT(*) FROM sqluice_jobs AS q WHERE q.status = 'running' AND q.finished_at IS NULL AND q.queue = i.name)
           ELSE (SELECT COUNT(*) FROM sqluice_jobs AS r WHERE r.kind = i.name AND r.limit_key IS NOT NULL AND r.status = 'running'
               AND (r.limit_key = i.limit_key OR i.limit_key = '')) END AS BIGINT) AS active,
       CAST(CASE i.scope WHEN 'queue' THEN (SELECT COUNT(*) FROM sqluice_jobs AS v WHERE v.queue = i.name AND v.status = 'waiting')
               + (SELECT COUNT(*) FROM sqluice_jobs AS p WHERE p.queue = i.name AND p.status = 'pending')
           ELSE (SELECT COUNT(*) FROM sqluice_jobs AS w WHERE w.kind = i.name AND w.limit_key IS NOT NULL AND w.status = 'waiting'
               AND (w.limit_key = i.limit_key OR i.limit_key = '')) END AS BIGINT) AS waiting
FROM (
    SELECT s.scope, s.name, s.limit_key, s.running, s.starts, s.period, s.burst, s.weight, s.depth, s.on_full, s.ordered, s.set_at FROM sqluice_limits AS s
    UNION ALL
    SELECT CAST('kind' AS TEXT) AS scope, d.kind, CAST('' AS TEXT) AS limit_key, d.running, d.starts, d.period, d.burst, d.weight, d.depth, d.on_full, d.ordered,
           CAST(0 AS BIGINT) AS set_at
    FROM sqluice_declared_limits AS d
) AS i
ORDER BY i.scope, i.name, i.limit_key, i.set_at DESC;

-- name: CloseLimitKey :exec
-- CloseLimitKey lets no job of a kind and a key start before a time.
INSERT INTO sqluice_limit_keys (scope, name, limit_key, closed_until) VALUES ('kind', @kind, @limit_key, @until)
ON CONFLICT (scope, name, limit_key) DO UPDATE SET closed_until = CASE
    WHEN excluded.closed_until > sqluice_limit_keys.closed_until THEN excluded.closed_until ELSE sqluice_limit_keys.closed_until END;
