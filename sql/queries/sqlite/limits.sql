-- name: PromoteLimitedJobs :many
-- PromoteLimitedJobs makes up to n scheduled jobs with a limit key waiting whose time has come, the earliest first. OpenLanes follows in the
-- same transaction.
UPDATE sqluice_jobs SET updated_at = @now, status = 'waiting'
WHERE id IN (
    SELECT d.id FROM sqluice_jobs AS d
    WHERE d.limit_key IS NOT NULL AND d.status = 'scheduled' AND d.run_after <= @now
    ORDER BY d.run_after, d.id LIMIT CAST(@n AS BIGINT)
)
RETURNING kind, CAST(limit_key AS TEXT) AS limit_key, queue, priority;

-- name: AdoptPendingJobs :many
-- AdoptPendingJobs makes up to n pending jobs of queues and kinds, two JSON lists, waiting that a limit of a whole kind or queue concerns, the
-- best of each first. They get an empty limit key. OpenLanes follows in the same transaction.
UPDATE sqluice_jobs SET updated_at = @now, status = 'waiting', limit_key = ''
WHERE id IN (
    SELECT c.id FROM json_each(CAST(@queues AS TEXT)) AS q CROSS JOIN json_each(CAST(@kinds AS TEXT)) AS k JOIN sqluice_jobs AS c ON c.id IN (
        SELECT j.id FROM sqluice_jobs AS j
        WHERE j.status = 'pending' AND j.queue = q.value AND j.kind = k.value AND j.run_after <= @now
        ORDER BY j.priority DESC, j.run_after, j.id LIMIT CAST(@n AS BIGINT)
    )
    WHERE EXISTS (SELECT 1 FROM sqluice_limits AS z WHERE z.limit_key = '' AND z.name IN (k.value, q.value)
        AND (z.scope = 'queue' AND z.name = q.value AND z.running + z.starts > 0 OR z.scope <> 'queue' AND z.name = k.value))
    LIMIT CAST(@n AS BIGINT)
)
RETURNING kind, CAST(limit_key AS TEXT) AS limit_key, queue, priority;

-- name: ListAdoptableQueues :many
-- ListAdoptableQueues lists the queues of a JSON list in which AdoptPendingJobs finds jobs of the kinds, a JSON list.
SELECT CAST(q.value AS TEXT) AS queue FROM json_each(CAST(@queues AS TEXT)) AS q
WHERE EXISTS (
    SELECT 1 FROM json_each(CAST(@kinds AS TEXT)) AS k WHERE EXISTS (
        SELECT 1 FROM sqluice_jobs AS j WHERE j.status = 'pending' AND j.queue = q.value AND j.kind = k.value AND j.run_after <= @now
    )
    AND EXISTS (SELECT 1 FROM sqluice_limits AS z WHERE z.limit_key = '' AND z.name IN (k.value, q.value)
        AND (z.scope = 'queue' AND z.name = q.value AND z.running + z.starts > 0 OR z.scope <> 'queue' AND z.name = k.value))
);

-- name: LockWholeLimits :many
-- LockWholeLimits locks, in one order, the limits of whole queues and kinds, two JSON lists, and lists them (on SQLite the transaction locks
-- all). It comes before the locks of lanes.
SELECT z.scope, z.name FROM (
    SELECT CAST('queue' AS TEXT) AS scope, CAST(q.value AS TEXT) AS name FROM json_each(CAST(@queues AS TEXT)) AS q
    UNION ALL
    SELECT CAST('total' AS TEXT), CAST(k.value AS TEXT) FROM json_each(CAST(@kinds AS TEXT)) AS k
) AS e
CROSS JOIN sqluice_limits AS z ON z.scope = e.scope AND z.name = e.name AND z.limit_key = '' AND z.running + z.starts > 0;

-- name: ReadWholeLimits :many
-- ReadWholeLimits returns the limits of whole queues and kinds, two JSON lists, with the number of jobs that run; of a kind, those with a
-- limit key. keyless is the number of running jobs without one: they started before the limit was set, and their ends wake no lane. It
-- must be a statement after LockWholeLimits.
SELECT z.scope, z.name, z.running, z.starts, z.period, z.burst,
       CAST(CASE z.scope WHEN 'queue' THEN (SELECT COUNT(*) FROM sqluice_jobs AS q WHERE q.status = 'running' AND q.finished_at IS NULL AND q.queue = z.name)
           ELSE (SELECT COUNT(*) FROM sqluice_jobs AS r WHERE r.kind = z.name AND r.limit_key IS NOT NULL AND r.status = 'running') END AS BIGINT) AS active,
       (SELECT COUNT(*) FROM sqluice_jobs AS n
        WHERE n.status = 'running' AND n.finished_at IS NULL AND n.limit_key IS NULL
          AND (z.scope = 'queue' AND n.queue = z.name OR z.scope <> 'queue' AND n.kind = z.name)) AS keyless,
       CAST(COALESCE(t.paid_until, 0) AS BIGINT) AS paid_until
FROM (
    SELECT CAST('queue' AS TEXT) AS scope, CAST(q.value AS TEXT) AS name FROM json_each(CAST(@queues AS TEXT)) AS q
    UNION ALL
    SELECT CAST('total' AS TEXT), CAST(k.value AS TEXT) FROM json_each(CAST(@kinds AS TEXT)) AS k
) AS e
CROSS JOIN sqluice_limits AS z ON z.scope = e.scope AND z.name = e.name AND z.limit_key = '' AND z.running + z.starts > 0
LEFT JOIN sqluice_limit_keys AS t ON t.scope = z.scope AND t.name = z.name AND t.limit_key = '';

-- name: CountRoom :one
-- CountRoom counts the limits of whole queues and kinds, two JSON lists, and adds 1 when a lane of keys, a JSON object with a list of keys for
-- each kind, is ready. A claim can leave a lane ready while its limit is full.
SELECT CAST((
    SELECT COUNT(*) FROM sqluice_limits AS z
    WHERE z.limit_key = '' AND z.running + z.starts > 0 AND (z.scope = 'total' AND z.name IN (SELECT k.value FROM json_each(CAST(@kinds AS TEXT)) AS k)
        OR z.scope = 'queue' AND z.name IN (SELECT q.value FROM json_each(CAST(@queues AS TEXT)) AS q))
) + EXISTS (
    SELECT 1 FROM json_each(CAST(@keys AS TEXT)) AS m CROSS JOIN json_each(m.value) AS e
    CROSS JOIN sqluice_lanes AS l ON l.kind = m.key AND l.limit_key = e.value AND l.ready_at <= CAST(@now AS BIGINT)
) AS BIGINT) AS room;

-- name: HoldLimitKeys :many
-- HoldLimitKeys locks the rows of keys, a JSON object with a list of keys for each kind, in their order, and the lanes of those without a row,
-- which it lists (on SQLite it lists none, as the transaction locks all: no kind is empty).
SELECT l.kind, l.limit_key FROM sqluice_lanes AS l WHERE l.kind = '' AND l.limit_key = CAST(@keys AS TEXT);

-- name: LockLanes :many
-- LockLanes locks the lanes of keys, a JSON object with a list of keys for each kind, in their order, and lists them (on SQLite it lists none, as the transaction
-- locks all: no kind is empty).
SELECT l.kind, l.limit_key, l.queue FROM sqluice_lanes AS l WHERE l.kind = '' AND l.limit_key = CAST(@keys AS TEXT);

-- name: WakeLanes :execrows
-- WakeLanes makes the lanes of keys, a JSON object with a list of keys for each kind, ready that wait for the end of a job. LockLanes or HoldLimitKeys
-- comes before it.
UPDATE sqluice_lanes SET ready_at = CAST(@now AS BIGINT), held = 0
WHERE (kind, limit_key) IN (SELECT m.key, k.value FROM json_each(CAST(@keys AS TEXT)) AS m CROSS JOIN json_each(m.value) AS k) AND ready_at IS NULL;

-- name: WakeAllLanes :execrows
-- WakeAllLanes makes all lanes ready that wait for the end of a job.
UPDATE sqluice_lanes SET ready_at = CAST(@now AS BIGINT), held = 0 WHERE ready_at IS NULL;

-- name: WakeKind :execrows
-- WakeKind makes the lanes of a kind ready at once, of one key or of all: a limit has changed.
UPDATE sqluice_lanes SET ready_at = CAST(@now AS BIGINT), held = 0
WHERE kind = @kind AND (limit_key = sqlc.narg('limit_key') OR sqlc.narg('limit_key') IS NULL);

-- name: OpenLanes :exec
-- OpenLanes makes lanes ready, a JSON list of [kind, key, queue, priority], that have got waiting jobs. A lane that is ready later stays so.
INSERT INTO sqluice_lanes (kind, limit_key, queue, priority, ready_at)
SELECT e.value->>0, e.value->>1, e.value->>2, e.value->>3, CAST(@now AS BIGINT) FROM json_each(CAST(@items AS TEXT)) AS e WHERE true
ON CONFLICT (kind, limit_key, queue) DO UPDATE SET ready_at = COALESCE(sqluice_lanes.ready_at, excluded.ready_at), held = 0,
    priority = CASE WHEN excluded.priority > sqluice_lanes.priority THEN excluded.priority ELSE sqluice_lanes.priority END
WHERE sqluice_lanes.ready_at IS NULL OR sqluice_lanes.held = 1 OR sqluice_lanes.priority < excluded.priority;

-- name: ListReadyLanes :many
-- ListReadyLanes lists up to n ready lanes of a queue and of kinds, a JSON list: by priority, the highest first, then the longest ready first.
SELECT l.kind, l.limit_key, l.priority FROM json_each(CAST(@kinds AS TEXT)) AS k
CROSS JOIN sqluice_lanes AS l ON l.queue = @queue AND l.kind = k.value AND l.limit_key IN (
    SELECT i.limit_key FROM sqluice_lanes AS i
    WHERE i.queue = @queue AND i.kind = k.value AND i.ready_at IS NOT NULL AND +i.ready_at <= CAST(@now AS BIGINT) /* + keeps the order of the index */
    ORDER BY i.priority DESC, i.ready_at LIMIT CAST(@n AS BIGINT)
)
WHERE /* claimable */ NOT EXISTS (SELECT 1 FROM sqluice_pauses AS h WHERE h.queue = @queue AND h.kind IN ('', k.value))
ORDER BY l.priority DESC, l.ready_at, l.kind, l.limit_key LIMIT CAST(@n AS BIGINT);

-- name: LockReadyLanes :many
-- LockReadyLanes is ListReadyLanes, and locks the lanes and the rows of their keys. It passes over locked lanes (on SQLite there are none).
-- key_locked is 0 where another transaction has locked the row of the key, and where there is none. It lists no lane for a worker that is
-- gone.
SELECT l.kind, l.limit_key, l.priority, CAST(1 AS BIGINT) AS key_locked FROM json_each(CAST(@kinds AS TEXT)) AS k
CROSS JOIN sqluice_lanes AS l ON l.queue = @queue AND l.kind = k.value AND l.limit_key IN (
    SELECT i.limit_key FROM sqluice_lanes AS i
    WHERE i.queue = @queue AND i.kind = k.value AND i.ready_at IS NOT NULL AND +i.ready_at <= CAST(@now AS BIGINT) /* + keeps the order of the index */
      AND EXISTS (SELECT 1 FROM sqluice_workers AS w WHERE w.id = @worker_id AND w.ended_at IS NULL)
    ORDER BY i.priority DESC, i.ready_at LIMIT CAST(@n AS BIGINT)
)
WHERE /* claimable */ NOT EXISTS (SELECT 1 FROM sqluice_pauses AS h WHERE h.queue = @queue AND h.kind IN ('', k.value))
ORDER BY l.priority DESC, l.ready_at, l.kind, l.limit_key LIMIT CAST(@n AS BIGINT);

-- name: ListLaneTimes :many
-- ListLaneTimes lists the pairs of a queue and a kind, of two JSON lists, that have lanes, each with the first time at which one of them is
-- ready.
SELECT CAST(q.value AS TEXT) AS queue, CAST(COALESCE((
    SELECT l.ready_at FROM sqluice_lanes AS l
    WHERE l.queue = q.value AND l.kind = k.value AND l.ready_at IS NOT NULL ORDER BY l.ready_at LIMIT 1
), 0) AS BIGINT) AS ready_at
FROM json_each(CAST(@queues AS TEXT)) AS q CROSS JOIN json_each(CAST(@kinds AS TEXT)) AS k
WHERE EXISTS (SELECT 1 FROM sqluice_lanes AS e WHERE e.queue = q.value AND e.kind = k.value AND e.ready_at IS NOT NULL LIMIT 1 OFFSET 0)
  AND /* claimable */ NOT EXISTS (SELECT 1 FROM sqluice_pauses AS h WHERE h.queue = q.value AND h.kind IN ('', k.value));

-- name: HasWaitingJobs :one
-- HasWaitingJobs counts the pairs of a queue and a kind, of two JSON lists, that have a waiting job that is not set aside and are not paused. It leaves out lanes
-- that are ready only after until, and sequences that are held.
SELECT COUNT(*) AS kinds FROM json_each(CAST(@queues AS TEXT)) AS q CROSS JOIN json_each(CAST(@kinds AS TEXT)) AS k
WHERE EXISTS (
    SELECT 1 FROM sqluice_lanes AS l JOIN sqluice_jobs AS j ON j.kind = l.kind AND j.limit_key = l.limit_key AND j.queue = l.queue AND j.status = 'waiting'
    WHERE l.kind = k.value AND l.queue = q.value AND COALESCE(l.ready_at, 0) <= CAST(@until AS BIGINT) AND l.held = 0
      AND NOT EXISTS (SELECT 1 FROM sqluice_refusals AS f WHERE f.job_id = j.id AND f.action IN ('claim', 'conflict') AND f.again_at > CAST(@now AS BIGINT) LIMIT 1 OFFSET 0))
AND /* claimable */ NOT EXISTS (SELECT 1 FROM sqluice_pauses AS h WHERE h.queue = q.value AND h.kind IN ('', k.value));

-- name: AddLimitKeys :exec
-- AddLimitKeys adds rows of keys, a JSON object with a list of keys for each kind, that have none.
INSERT INTO sqluice_limit_keys (scope, name, limit_key)
SELECT 'kind', m.key, e.value FROM json_each(CAST(@keys AS TEXT)) AS m CROSS JOIN json_each(m.value) AS e WHERE true
ON CONFLICT (scope, name, limit_key) DO NOTHING;

-- name: LockLimitKeys :many
-- LockLimitKeys locks the rows of keys, a JSON object with a list of keys for each kind, and lists them. It passes over locked ones (on SQLite there are none).
SELECT k.name AS kind, k.limit_key FROM json_each(CAST(@keys AS TEXT)) AS m CROSS JOIN json_each(m.value) AS e
CROSS JOIN sqluice_limit_keys AS k ON k.scope = 'kind' AND k.name = m.key AND k.limit_key = e.value;

-- name: ReadLimits :many
-- ReadLimits returns for each key, of a JSON object with a list of keys for each kind, how many of its jobs run, and its limit: the one that was set for it,
-- or else for the kind, or else the declared one; zeros without one. keyless is the number of running jobs of the kind without a key, where a set
-- limit counts them: they started before. It must be a statement after LockLimitKeys: an earlier snapshot may lack jobs that have started since.
WITH k AS (
    SELECT n.kind, a.set_at, COALESCE(a.running, d.running) AS running, COALESCE(a.starts, d.starts) AS starts, COALESCE(a.period, d.period) AS period, COALESCE(a.burst, d.burst) AS burst,
           COALESCE(a.weight, d.weight) AS weight, COALESCE(a.depth, d.depth) AS depth, COALESCE(a.on_full, d.on_full) AS on_full, COALESCE(a.ordered, d.ordered) AS ordered
    FROM (SELECT DISTINCT CAST(i.key AS TEXT) AS kind FROM json_each(CAST(@keys AS TEXT)) AS i) AS n
    LEFT JOIN sqluice_limits AS a ON a.scope = 'kind' AND a.name = n.kind AND a.limit_key = ''
    LEFT JOIN sqluice_declared_limits AS d ON d.kind = n.kind
    LIMIT CAST(9223372036854775807 AS BIGINT) /* once for each kind, and not for each key */
)
SELECT CAST(m.key AS TEXT) AS kind, CAST(e.value AS TEXT) AS limit_key,
       (SELECT COUNT(*) FROM sqluice_jobs AS r
        WHERE r.kind = m.key AND r.limit_key = e.value AND r.limit_key IS NOT NULL AND r.status = 'running') AS active,
       CAST(CASE WHEN e.value = '' AND k.set_at IS NOT NULL THEN (
           SELECT COUNT(*) FROM sqluice_jobs AS q WHERE q.status = 'running' AND q.finished_at IS NULL AND q.limit_key IS NULL AND q.kind = m.key
       ) ELSE 0 END AS BIGINT) AS keyless,
       CAST(COALESCE(o.running, k.running, 0) AS BIGINT) AS running, CAST(COALESCE(o.starts, k.starts, 0) AS BIGINT) AS starts,
       CAST(COALESCE(o.period, k.period, 0) AS BIGINT) AS period, CAST(COALESCE(o.burst, k.burst, 0) AS BIGINT) AS burst,
       CAST(COALESCE(o.weight, k.weight, 0) AS BIGINT) AS weight, CAST(COALESCE(o.depth, k.depth, 0) AS BIGINT) AS depth,
       CAST(COALESCE(o.on_full, k.on_full, '') AS TEXT) AS on_full, CAST(COALESCE(o.ordered, k.ordered, '') AS TEXT) AS ordered,
       CAST(COALESCE(t.paid_until, 0) AS BIGINT) AS paid_until, CAST(COALESCE(t.closed_until, 0) AS BIGINT) AS closed_until
FROM json_each(CAST(@keys AS TEXT)) AS m CROSS JOIN json_each(m.value) AS e
CROSS JOIN k ON k.kind = m.key
LEFT JOIN sqluice_limits AS o ON o.scope = 'kind' AND o.name = m.key AND o.limit_key = e.value
LEFT JOIN sqluice_limit_keys AS t ON t.scope = 'kind' AND t.name = m.key AND t.limit_key = e.value;

-- name: ListLaneJobs :many
-- ListLaneJobs lists up to n waiting jobs of each lane of a queue, a JSON object with a list of keys for each kind, that are not set aside, the best first.
SELECT j.id, j.kind, CAST(j.limit_key AS TEXT) AS limit_key, j.priority FROM json_each(CAST(@keys AS TEXT)) AS m CROSS JOIN json_each(m.value) AS e
JOIN sqluice_jobs AS j ON j.id IN (
    SELECT i.id FROM sqluice_jobs AS i
    WHERE i.status = 'waiting' AND i.kind = m.key AND i.limit_key = e.value AND i.queue = @queue
      AND NOT EXISTS (SELECT 1 FROM sqluice_refusals AS f WHERE f.job_id = i.id AND f.action IN ('claim', 'conflict') AND f.again_at > CAST(@now AS BIGINT) LIMIT 1 OFFSET 0)
    ORDER BY i.priority DESC, i.run_after, i.id LIMIT CAST(@n AS BIGINT)
)
ORDER BY j.priority DESC, j.run_after, j.id;

-- name: LockLaneJobs :many
-- LockLaneJobs is ListLaneJobs, and locks the jobs. It passes over locked ones (on SQLite there are none).
SELECT j.id, j.kind, CAST(j.limit_key AS TEXT) AS limit_key, j.priority FROM json_each(CAST(@keys AS TEXT)) AS m CROSS JOIN json_each(m.value) AS e
JOIN sqluice_jobs AS j ON j.id IN (
    SELECT i.id FROM sqluice_jobs AS i
    WHERE i.status = 'waiting' AND i.kind = m.key AND i.limit_key = e.value AND i.queue = @queue
      AND NOT EXISTS (SELECT 1 FROM sqluice_refusals AS f WHERE f.job_id = i.id AND f.action IN ('claim', 'conflict') AND f.again_at > CAST(@now AS BIGINT) LIMIT 1 OFFSET 0)
    ORDER BY i.priority DESC, i.run_after, i.id LIMIT CAST(@n AS BIGINT)
)
ORDER BY j.priority DESC, j.run_after, j.id;

-- name: StartWaitingJobs :many
-- StartWaitingJobs hands waiting jobs, a JSON list of ids, to a worker. LockLaneJobs has listed them. The rows are as ClaimJobs returns them, with the limit key.
UPDATE sqluice_jobs SET updated_at = @now, status = 'running', attempt = attempt + 1,
                worker_id = CAST(@worker_id AS BIGINT), lease_until = CAST(@lease_until AS BIGINT), started_at = @now, finished_at = NULL, prefetched = NULL
WHERE id IN (SELECT e.value FROM json_each(CAST(@ids AS TEXT)) AS e) AND COALESCE(status, '') = 'waiting'
RETURNING id, kind, payload, priority, run_after, start_by, attempt, uncounted, max_attempts, crashes, timeout,
          unique_key, request_id, user_id, tags, metadata, created_at, CAST(limit_key AS TEXT) AS limit_key;

-- name: StartLaneJobs :many
-- StartLaneJobs hands up to n waiting jobs of each lane of a queue to a worker, the best first, of a JSON object with a list of keys for each
-- kind. Their priority is least or higher. It leaves out jobs that are set aside, and locked ones (on SQLite there are none). The rows are as StartWaitingJobs returns them.
UPDATE sqluice_jobs SET updated_at = @now, status = 'running', attempt = attempt + 1,
                worker_id = CAST(@worker_id AS BIGINT), lease_until = CAST(@lease_until AS BIGINT), started_at = @now, finished_at = NULL, prefetched = NULL
WHERE id IN (
    SELECT j.id FROM json_each(CAST(@keys AS TEXT)) AS m CROSS JOIN json_each(m.value) AS e
    CROSS JOIN sqluice_jobs AS j ON j.id IN (
        SELECT i.id FROM sqluice_jobs AS i
        WHERE i.status = 'waiting' AND i.priority >= CAST(@least AS BIGINT) AND i.kind = m.key AND i.limit_key = e.value AND i.queue = @queue
          AND NOT EXISTS (SELECT 1 FROM sqluice_refusals AS f WHERE f.job_id = i.id AND f.action IN ('claim', 'conflict') AND f.again_at > @now LIMIT 1 OFFSET 0)
        ORDER BY i.priority DESC, i.run_after, i.id LIMIT CAST(@n AS BIGINT)
    )
)
RETURNING id, kind, payload, priority, run_after, start_by, attempt, uncounted, max_attempts, crashes, timeout,
          unique_key, request_id, user_id, tags, metadata, created_at, CAST(limit_key AS TEXT) AS limit_key;

-- name: SpendStarts :exec
-- SpendStarts notes until when starts have used up the rates of limits, a JSON list of [scope, name, key, time].
INSERT INTO sqluice_limit_keys (scope, name, limit_key, paid_until)
SELECT e.value->>0, e.value->>1, e.value->>2, e.value->>3 FROM json_each(CAST(@items AS TEXT)) AS e WHERE true
ON CONFLICT (scope, name, limit_key) DO UPDATE SET paid_until = excluded.paid_until;

-- name: SetLanes :execrows
-- SetLanes notes when the lanes of a queue, a JSON list of [kind, key, time, held], are ready again, and the priorities of their next jobs. It
-- leaves out lanes without a waiting job.
INSERT INTO sqluice_lanes (kind, limit_key, queue, priority, ready_at, held)
SELECT s.kind, s.limit_key, CAST(@queue AS TEXT), s.priority, s.ready_at, s.held FROM (
    SELECT e.value->>0 AS kind, e.value->>1 AS limit_key, e.value->>2 AS ready_at, e.value->>3 AS held, (
        SELECT j.priority FROM sqluice_jobs AS j
        WHERE j.status = 'waiting' AND j.kind = e.value->>0 AND j.limit_key = e.value->>1 AND j.queue = @queue
        ORDER BY j.priority DESC, j.run_after, j.id LIMIT 1) AS priority
    FROM json_each(CAST(@items AS TEXT)) AS e
    LIMIT CAST(9223372036854775807 AS BIGINT) /* one look for each lane */
) AS s
WHERE s.priority IS NOT NULL
ON CONFLICT (kind, limit_key, queue) DO UPDATE SET ready_at = excluded.ready_at, priority = excluded.priority, held = excluded.held;

-- name: DeleteEmptyLanes :execrows
-- DeleteEmptyLanes removes the lanes of a queue, a JSON object with a list of keys for each kind, that have no waiting job.
DELETE FROM sqluice_lanes
WHERE (sqluice_lanes.kind, sqluice_lanes.limit_key) IN (SELECT m.key, e.value FROM json_each(CAST(@keys AS TEXT)) AS m CROSS JOIN json_each(m.value) AS e)
  AND sqluice_lanes.queue = @queue
  AND NOT EXISTS (
    SELECT 1 FROM sqluice_jobs AS j WHERE j.status = 'waiting' AND j.kind = sqluice_lanes.kind
      AND j.limit_key = sqluice_lanes.limit_key AND j.queue = sqluice_lanes.queue LIMIT 1 OFFSET 0);

-- name: DeleteIdleLimitKeys :execrows
-- DeleteIdleLimitKeys removes up to n keys whose row says nothing more: no job waits or runs, and no earlier start, closing or
-- failed job counts. It does not wait for rows that are locked (on SQLite none are).
DELETE FROM sqluice_limit_keys WHERE (scope, name, limit_key) IN (
    SELECT k.scope, k.name, k.limit_key FROM sqluice_limit_keys AS k
    WHERE k.paid_until <= @now AND k.closed_until <= @now
      AND NOT EXISTS (
        SELECT 1 FROM sqluice_jobs AS p
        WHERE k.passed_id > 0 AND p.kind = k.name AND p.limit_key = k.limit_key AND p.limit_key IS NOT NULL
          AND p.status = 'failed' LIMIT 1 OFFSET 0)
      AND NOT EXISTS (SELECT 1 FROM sqluice_lanes AS l WHERE k.scope = 'kind' AND l.kind = k.name AND l.limit_key = k.limit_key LIMIT 1 OFFSET 0)
      AND NOT EXISTS (
        SELECT 1 FROM sqluice_jobs AS r
        WHERE k.scope = 'kind' AND r.kind = k.name AND r.limit_key = k.limit_key AND r.limit_key IS NOT NULL AND r.status = 'running' LIMIT 1 OFFSET 0)
    LIMIT CAST(@n AS BIGINT));
