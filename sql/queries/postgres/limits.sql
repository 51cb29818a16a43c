-- name: PromoteLimitedJobs :many
-- PromoteLimitedJobs makes up to n scheduled jobs with a limit key waiting whose time has come, the earliest first. OpenLanes follows in the
-- same transaction.
UPDATE sqluice_jobs SET updated_at = @now, status = 'waiting'
WHERE id = ANY (ARRAY(
    SELECT d.id FROM sqluice_jobs AS d
    WHERE d.limit_key IS NOT NULL AND d.status = 'scheduled' AND d.run_after <= @now
    ORDER BY d.run_after, d.id LIMIT @n
    FOR NO KEY UPDATE SKIP LOCKED
))
RETURNING kind, CAST(limit_key AS TEXT) AS limit_key, queue, priority;

-- name: AdoptPendingJobs :many
-- AdoptPendingJobs makes up to n pending jobs of queues and kinds, two JSON lists, waiting that a limit of a whole kind or queue concerns, the
-- best of each first. They get an empty limit key. OpenLanes follows in the same transaction.
UPDATE sqluice_jobs SET updated_at = @now, status = 'waiting', limit_key = ''
WHERE id = ANY (ARRAY(
    SELECT c.id FROM jsonb_array_elements_text(CAST(CAST(@queues AS TEXT) AS jsonb)) AS q (value)
    CROSS JOIN jsonb_array_elements_text(CAST(CAST(@kinds AS TEXT) AS jsonb)) AS k (value)
    CROSS JOIN LATERAL (
        SELECT j.id FROM sqluice_jobs AS j
        WHERE j.status = 'pending' AND j.queue = q.value AND j.kind = k.value AND j.run_after <= @now
          AND EXISTS (SELECT 1 FROM sqluice_limits AS z WHERE z.limit_key = '' AND z.name IN (k.value, q.value)
              AND (z.scope = 'queue' AND z.name = q.value AND z.running + z.starts > 0 OR z.scope <> 'queue' AND z.name = k.value))
        ORDER BY j.priority DESC, j.run_after, j.id LIMIT @n
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS c
    LIMIT @n
))
RETURNING kind, CAST(limit_key AS TEXT) AS limit_key, queue, priority;

-- name: ListAdoptableQueues :many
-- ListAdoptableQueues lists the queues of a JSON list in which AdoptPendingJobs finds jobs of the kinds, a JSON list.
SELECT CAST(q.value AS TEXT) AS queue FROM jsonb_array_elements_text(CAST(CAST(@queues AS TEXT) AS jsonb)) AS q (value)
WHERE EXISTS (
    SELECT 1 FROM jsonb_array_elements_text(CAST(CAST(@kinds AS TEXT) AS jsonb)) AS k (value) CROSS JOIN LATERAL (
        SELECT j.id FROM sqluice_jobs AS j WHERE j.status = 'pending' AND j.queue = q.value AND j.kind = k.value AND j.run_after <= @now
          AND EXISTS (SELECT 1 FROM sqluice_limits AS z WHERE z.limit_key = '' AND z.name IN (k.value, q.value)
              AND (z.scope = 'queue' AND z.name = q.value AND z.running + z.starts > 0 OR z.scope <> 'queue' AND z.name = k.value))
        LIMIT 1
    ) AS c
);

-- name: LockWholeLimits :many
-- LockWholeLimits locks, in one order, the limits of whole queues and kinds, two JSON lists, and lists them (on SQLite the transaction locks
-- all). It comes before the locks of lanes.
SELECT z.scope, z.name FROM sqluice_limits AS z
WHERE z.limit_key = '' AND z.running + z.starts > 0 AND (z.scope, z.name) IN (SELECT e.scope, e.name FROM (
    SELECT CAST('queue' AS TEXT) AS scope, q.value AS name FROM jsonb_array_elements_text(CAST(CAST(@queues AS TEXT) AS jsonb)) AS q (value)
    UNION ALL
    SELECT CAST('total' AS TEXT), k.value FROM jsonb_array_elements_text(CAST(CAST(@kinds AS TEXT) AS jsonb)) AS k (value)
) AS e)
ORDER BY z.scope COLLATE "C", z.name COLLATE "C"
FOR NO KEY UPDATE;

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
    SELECT CAST('queue' AS TEXT) AS scope, q.value AS name FROM jsonb_array_elements_text(CAST(CAST(@queues AS TEXT) AS jsonb)) AS q (value)
    UNION ALL
    SELECT CAST('total' AS TEXT), k.value FROM jsonb_array_elements_text(CAST(CAST(@kinds AS TEXT) AS jsonb)) AS k (value)
) AS e
CROSS JOIN LATERAL (
    SELECT i.scope, i.name, i.running, i.starts, i.period, i.burst FROM sqluice_limits AS i
    WHERE i.scope = e.scope AND i.name = e.name AND i.limit_key = '' AND i.running + i.starts > 0 LIMIT 1
) AS z
LEFT JOIN LATERAL (
    SELECT u.paid_until FROM sqluice_limit_keys AS u WHERE u.scope = z.scope AND u.name = z.name AND u.limit_key = '' LIMIT 1
) AS t ON true;

-- name: CountRoom :one
-- CountRoom counts the limits of whole queues and kinds, two JSON lists, and adds 1 when a lane of keys, a JSON object with a list of keys for
-- each kind, is ready. A claim can leave a lane ready while its limit is full.
SELECT CAST((
    SELECT COUNT(*) FROM sqluice_limits AS z
    WHERE z.limit_key = '' AND z.running + z.starts > 0
      AND (z.scope = 'total' AND z.name IN (SELECT k.value FROM jsonb_array_elements_text(CAST(CAST(@kinds AS TEXT) AS jsonb)) AS k (value))
        OR z.scope = 'queue' AND z.name IN (SELECT q.value FROM jsonb_array_elements_text(CAST(CAST(@queues AS TEXT) AS jsonb)) AS q (value)))
) + (
    SELECT COUNT(*) FROM (
        SELECT l.kind FROM jsonb_each(CAST(CAST(@keys AS TEXT) AS jsonb)) AS m (key, value) CROSS JOIN jsonb_array_elements_text(m.value) AS e (value)
        CROSS JOIN LATERAL (
            SELECT i.kind FROM sqluice_lanes AS i WHERE i.kind = m.key AND i.limit_key = e.value AND COALESCE(i.ready_at, CAST(@now AS BIGINT) + 1) <= @now LIMIT 1
        ) AS l
        LIMIT 1
    ) AS r
) AS BIGINT) AS room;

-- name: HoldLimitKeys :many
-- HoldLimitKeys locks the rows of keys, a JSON object with a list of keys for each kind, in their order, and the lanes of those without a row,
-- which it lists (on SQLite it lists none, as the transaction locks all). It waits for claims of the keys, which lock both, and keeps others
-- from them.
SELECT l.kind, l.limit_key
FROM (SELECT o.key, o.value FROM jsonb_each(CAST(CAST(@keys AS TEXT) AS jsonb)) AS o (key, value) ORDER BY o.key COLLATE "C") AS m
CROSS JOIN jsonb_array_elements_text(m.value) AS k (value)
CROSS JOIN LATERAL (
    SELECT COUNT(*) AS n FROM (
        SELECT f.limit_key FROM sqluice_limit_keys AS f
        WHERE f.scope = 'kind' AND f.name = m.key AND f.limit_key = k.value FOR NO KEY UPDATE
    ) AS h
) AS g
CROSS JOIN LATERAL (
    SELECT i.kind, i.limit_key FROM sqluice_lanes AS i
    WHERE i.kind = m.key AND i.limit_key = k.value AND g.n = 0
    ORDER BY i.queue COLLATE "C" FOR UPDATE
) AS l;

-- name: LockLanes :many
-- LockLanes locks the lanes of keys, a JSON object with a list of keys for each kind, in their order, and lists them (on SQLite the transaction locks all). It
-- locks the rows of the keys first: a claim of a lane that does not exist yet would otherwise count a job whose end is not committed, and
-- let the lane wait for that end.
SELECT l.kind, l.limit_key, l.queue FROM (SELECT o.key, o.value FROM jsonb_each(CAST(CAST(@keys AS TEXT) AS jsonb)) AS o (key, value) ORDER BY o.key COLLATE "C") AS m
CROSS JOIN jsonb_array_elements_text(m.value) AS k (value)
CROSS JOIN LATERAL (
    SELECT COUNT(*) AS n FROM (
        SELECT f.limit_key FROM sqluice_limit_keys AS f
        WHERE f.scope = 'kind' AND f.name = m.key AND f.limit_key = k.value FOR NO KEY UPDATE
    ) AS h
) AS g
CROSS JOIN LATERAL (
    SELECT i.kind, i.limit_key, i.queue FROM sqluice_lanes AS i
    WHERE i.kind = m.key AND i.limit_key = k.value AND g.n >= 0 /* after the lock of the key */
    ORDER BY i.queue COLLATE "C" FOR UPDATE
) AS l;

-- name: WakeLanes :execrows
-- WakeLanes makes the lanes of keys, a JSON object with a list of keys for each kind, ready that wait for the end of a job. LockLanes or HoldLimitKeys
-- comes before it.
INSERT INTO sqluice_lanes (kind, limit_key, queue, priority, ready_at)
SELECT l.kind, l.limit_key, l.queue, l.priority, CAST(@now AS BIGINT)
FROM (SELECT o.key, o.value FROM jsonb_each(CAST(CAST(@keys AS TEXT) AS jsonb)) AS o (key, value) ORDER BY o.key COLLATE "C") AS m
CROSS JOIN jsonb_array_elements_text(m.value) AS k (value)
CROSS JOIN LATERAL (
    SELECT i.kind, i.limit_key, i.queue, i.priority FROM sqluice_lanes AS i
    WHERE i.kind = m.key AND i.limit_key = k.value AND i.ready_at IS NULL OFFSET 0
) AS l
ON CONFLICT (kind, limit_key, queue) DO UPDATE SET ready_at = excluded.ready_at, held = 0;

-- name: WakeAllLanes :execrows
-- WakeAllLanes makes all lanes ready that wait for the end of a job.
INSERT INTO sqluice_lanes (kind, limit_key, queue, priority, ready_at)
SELECT l.kind, l.limit_key, l.queue, l.priority, CAST(@now AS BIGINT) FROM (
    SELECT i.kind, i.limit_key, i.queue, i.priority FROM sqluice_lanes AS i WHERE i.ready_at IS NULL
    ORDER BY i.kind COLLATE "C", i.limit_key COLLATE "C", i.queue COLLATE "C" FOR UPDATE
) AS l
ON CONFLICT (kind, limit_key, queue) DO UPDATE SET ready_at = excluded.ready_at, held = 0;

-- name: WakeKind :execrows
-- WakeKind makes the lanes of a kind ready at once, of one key or of all: a limit has changed.
UPDATE sqluice_lanes SET ready_at = CAST(@now AS BIGINT), held = 0
WHERE (kind, limit_key, queue) IN (
    SELECT l.kind, l.limit_key, l.queue FROM sqluice_lanes AS l
    WHERE l.kind = @kind AND (l.limit_key = sqlc.narg('limit_key') OR sqlc.narg('limit_key') IS NULL)
    ORDER BY l.kind COLLATE "C", l.limit_key COLLATE "C", l.queue COLLATE "C" FOR UPDATE);

-- name: OpenLanes :exec
-- OpenLanes makes lanes ready, a JSON list of [kind, key, queue, priority], that have got waiting jobs. A lane that is ready later stays so.
INSERT INTO sqluice_lanes (kind, limit_key, queue, priority, ready_at)
SELECT e.value->>0, e.value->>1, e.value->>2, CAST(e.value->>3 AS BIGINT), CAST(@now AS BIGINT) FROM jsonb_array_elements(CAST(CAST(@items AS TEXT) AS jsonb)) AS e (value)
ON CONFLICT (kind, limit_key, queue) DO UPDATE SET ready_at = COALESCE(sqluice_lanes.ready_at, excluded.ready_at), held = 0,
    priority = CASE WHEN excluded.priority > sqluice_lanes.priority THEN excluded.priority ELSE sqluice_lanes.priority END
WHERE sqluice_lanes.ready_at IS NULL OR sqluice_lanes.held = 1 OR sqluice_lanes.priority < excluded.priority;

-- name: ListReadyLanes :many
-- ListReadyLanes lists up to n ready lanes of a queue and of kinds, a JSON list: by priority, the highest first, then the longest ready first.
SELECT l.kind, l.limit_key, l.priority FROM jsonb_array_elements_text(CAST(CAST(@kinds AS TEXT) AS jsonb)) AS k (value)
CROSS JOIN LATERAL (
    SELECT i.kind, i.limit_key, i.priority, i.ready_at FROM sqluice_lanes AS i
    WHERE i.queue = @queue AND i.kind = k.value AND i.ready_at IS NOT NULL AND i.ready_at <= CAST(@now AS BIGINT)
      AND /* claimable */ NOT EXISTS (SELECT 1 FROM sqluice_pauses AS h WHERE h.queue = @queue AND h.kind = '')
      AND /* claimable */ NOT EXISTS (SELECT 1 FROM sqluice_pauses AS g WHERE g.queue = @queue AND g.kind = k.value)
    ORDER BY i.priority DESC, i.ready_at LIMIT @n
) AS l
ORDER BY l.priority DESC, l.ready_at, l.kind, l.limit_key LIMIT @n;

-- name: LockReadyLanes :many
-- LockReadyLanes is ListReadyLanes, and locks the lanes and the rows of their keys. It passes over locked lanes (on SQLite there are none).
-- key_locked is 0 where another transaction has locked the row of the key, and where there is none. It lists no lane for a worker that is
-- gone.
SELECT l.kind, l.limit_key, l.priority, g.n AS key_locked FROM (
    SELECT o.kind, o.limit_key, o.priority, o.ready_at FROM jsonb_array_elements_text(CAST(CAST(@kinds AS TEXT) AS jsonb)) AS k (value)
    CROSS JOIN LATERAL (
        SELECT i.kind, i.limit_key, i.priority, i.ready_at FROM sqluice_lanes AS i
        WHERE i.queue = @queue AND i.kind = k.value AND i.ready_at IS NOT NULL AND i.ready_at <= CAST(@now AS BIGINT)
          AND EXISTS (SELECT 1 FROM sqluice_workers AS w WHERE w.id = @worker_id AND w.ended_at IS NULL)
          AND /* claimable */ NOT EXISTS (SELECT 1 FROM sqluice_pauses AS h WHERE h.queue = @queue AND h.kind = '')
          AND /* claimable */ NOT EXISTS (SELECT 1 FROM sqluice_pauses AS g WHERE g.queue = @queue AND g.kind = k.value)
        ORDER BY i.priority DESC, i.ready_at LIMIT @n
        FOR UPDATE OF i SKIP LOCKED
    ) AS o
    ORDER BY o.priority DESC, o.ready_at, o.kind, o.limit_key LIMIT @n
) AS l
CROSS JOIN LATERAL (
    SELECT COUNT(*) AS n FROM (
        SELECT f.limit_key FROM sqluice_limit_keys AS f
        WHERE f.scope = 'kind' AND f.name = l.kind AND f.limit_key = l.limit_key FOR NO KEY UPDATE SKIP LOCKED
    ) AS h
) AS g
ORDER BY l.priority DESC, l.ready_at, l.kind, l.limit_key;

-- name: ListLaneTimes :many
-- ListLaneTimes lists the pairs of a queue and a kind, of two JSON lists, that have lanes, each with the first time at which one of them is
-- ready.
SELECT CAST(q.value AS TEXT) AS queue, CAST(COALESCE((
    SELECT l.ready_at FROM sqluice_lanes AS l
    WHERE l.queue = q.value AND l.kind = k.value AND l.ready_at IS NOT NULL ORDER BY l.ready_at LIMIT 1
), 0) AS BIGINT) AS ready_at
FROM jsonb_array_elements_text(CAST(CAST(@queues AS TEXT) AS jsonb)) AS q (value) CROSS JOIN jsonb_array_elements_text(CAST(CAST(@kinds AS TEXT) AS jsonb)) AS k (value)
WHERE EXISTS (SELECT 1 FROM sqluice_lanes AS e WHERE e.queue = q.value AND e.kind = k.value AND e.ready_at IS NOT NULL LIMIT 1 OFFSET 0)
  AND /* claimable */ NOT EXISTS (SELECT 1 FROM sqluice_pauses AS h WHERE h.queue = q.value AND h.kind = '')
  AND /* claimable */ NOT EXISTS (SELECT 1 FROM sqluice_pauses AS g WHERE g.queue = q.value AND g.kind = k.value);

-- name: HasWaitingJobs :one
-- HasWaitingJobs counts the pairs of a queue and a kind, of two JSON lists, that have a waiting job that is not set aside and are not paused. It leaves out lanes
-- that are ready only after until, and sequences that are held.
SELECT COUNT(*) AS kinds FROM jsonb_array_elements_text(CAST(CAST(@queues AS TEXT) AS jsonb)) AS q (value) CROSS JOIN jsonb_array_elements_text(CAST(CAST(@kinds AS TEXT) AS jsonb)) AS k (value)
CROSS JOIN LATERAL (
    SELECT i.limit_key FROM sqluice_lanes AS i
    WHERE i.kind = k.value AND i.queue = q.value AND COALESCE(i.ready_at, 0) <= CAST(@until AS BIGINT) AND i.held = 0
      AND EXISTS (
        SELECT 1 FROM sqluice_jobs AS j
        WHERE j.status = 'waiting' AND j.kind = i.kind AND j.limit_key = i.limit_key AND j.queue = i.queue
          AND NOT EXISTS (SELECT 1 FROM sqluice_refusals AS f WHERE f.job_id = j.id AND f.action IN ('claim', 'conflict') AND f.again_at > CAST(@now AS BIGINT) LIMIT 1 OFFSET 0)
        ORDER BY j.priority DESC, j.run_after, j.id LIMIT 1 OFFSET 0)
      AND /* claimable */ NOT EXISTS (SELECT 1 FROM sqluice_pauses AS h WHERE h.queue = q.value AND h.kind = '')
      AND /* claimable */ NOT EXISTS (SELECT 1 FROM sqluice_pauses AS g WHERE g.queue = q.value AND g.kind = k.value)
    LIMIT 1
) AS l;

-- name: AddLimitKeys :exec
-- AddLimitKeys adds rows of keys, a JSON object with a list of keys for each kind, that have none.
INSERT INTO sqluice_limit_keys (scope, name, limit_key)
SELECT 'kind', m.key, e.value FROM jsonb_each(CAST(CAST(@keys AS TEXT) AS jsonb)) AS m (key, value) CROSS JOIN jsonb_array_elements_text(m.value) AS e (value)
WHERE NOT EXISTS (SELECT 1 FROM sqluice_limit_keys AS k WHERE k.scope = 'kind' AND k.name = m.key AND k.limit_key = e.value LIMIT 1 OFFSET 0)
ORDER BY m.key COLLATE "C", e.value COLLATE "C"
ON CONFLICT (scope, name, limit_key) DO NOTHING;

-- name: LockLimitKeys :many
-- LockLimitKeys locks the rows of keys, a JSON object with a list of keys for each kind, and lists them. It passes over locked ones (on SQLite there are none).
SELECT l.kind, l.limit_key FROM jsonb_each(CAST(CAST(@keys AS TEXT) AS jsonb)) AS m (key, value) CROSS JOIN jsonb_array_elements_text(m.value) AS e (value)
CROSS JOIN LATERAL (
    SELECT k.name AS kind, k.limit_key FROM sqluice_limit_keys AS k
    WHERE k.scope = 'kind' AND k.name = m.key AND k.limit_key = e.value
    FOR NO KEY UPDATE SKIP LOCKED
) AS l;

-- name: ReadLimits :many
-- ReadLimits returns for each key, of a JSON object with a list of keys for each kind, how many of its jobs run, and its limit: the one that was set for it,
-- or else for the kind, or else the declared one; zeros without one. keyless is the number of running jobs of the kind without a key, where a set
-- limit counts them: they started before. It must be a statement after LockLimitKeys: an earlier snapshot may lack jobs that have started since.
WITH k AS MATERIALIZED (
    SELECT n.kind, a.set_at, COALESCE(a.running, d.running) AS running, COALESCE(a.starts, d.starts) AS starts, COALESCE(a.period, d.period) AS period, COALESCE(a.burst, d.burst) AS burst,
           COALESCE(a.weight, d.weight) AS weight, COALESCE(a.depth, d.depth) AS depth, COALESCE(a.on_full, d.on_full) AS on_full, COALESCE(a.ordered, d.ordered) AS ordered
    FROM (SELECT i.key AS kind FROM jsonb_each(CAST(CAST(@keys AS TEXT) AS jsonb)) AS i (key, value)) AS n
    LEFT JOIN LATERAL (
        SELECT y.running, y.starts, y.period, y.burst, y.weight, y.depth, y.on_full, y.ordered, y.set_at FROM sqluice_limits AS y
        WHERE y.scope = 'kind' AND y.name = n.kind AND y.limit_key = '' LIMIT 1
    ) AS a ON true
    LEFT JOIN LATERAL (
        SELECT z.running, z.starts, z.period, z.burst, z.weight, z.depth, z.on_full, z.ordered FROM sqluice_declared_limits AS z
        WHERE z.kind = n.kind LIMIT 1
    ) AS d ON true
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
FROM jsonb_each(CAST(CAST(@keys AS TEXT) AS jsonb)) AS m (key, value) CROSS JOIN jsonb_array_elements_text(m.value) AS e (value)
JOIN k ON k.kind = m.key
LEFT JOIN LATERAL (
    SELECT x.running, x.starts, x.period, x.burst, x.weight, x.depth, x.on_full, x.ordered FROM sqluice_limits AS x
    WHERE x.scope = 'kind' AND x.name = m.key AND x.limit_key = e.value LIMIT 1
) AS o ON true
LEFT JOIN LATERAL (
    SELECT u.paid_until, u.closed_until FROM sqluice_limit_keys AS u
    WHERE u.scope = 'kind' AND u.name = m.key AND u.limit_key = e.value LIMIT 1
) AS t ON true;

-- name: ListLaneJobs :many
-- ListLaneJobs lists up to n waiting jobs of each lane of a queue, a JSON object with a list of keys for each kind, that are not set aside, the best first.
SELECT j.id, j.kind, CAST(j.limit_key AS TEXT) AS limit_key, j.priority FROM jsonb_each(CAST(CAST(@keys AS TEXT) AS jsonb)) AS m (key, value) CROSS JOIN jsonb_array_elements_text(m.value) AS e (value)
CROSS JOIN LATERAL (
    SELECT i.id, i.kind, i.limit_key, i.priority, i.run_after FROM sqluice_jobs AS i
    WHERE i.status = 'waiting' AND i.kind = m.key AND i.limit_key = e.value AND i.queue = @queue
      AND NOT EXISTS (SELECT 1 FROM sqluice_refusals AS f WHERE f.job_id = i.id AND f.action IN ('claim', 'conflict') AND f.again_at > CAST(@now AS BIGINT) LIMIT 1 OFFSET 0)
    ORDER BY i.priority DESC, i.run_after, i.id LIMIT @n
) AS j
ORDER BY j.priority DESC, j.run_after, j.id;

-- name: LockLaneJobs :many
-- LockLaneJobs is ListLaneJobs, and locks the jobs. It passes over locked ones (on SQLite there are none).
SELECT j.id, j.kind, CAST(j.limit_key AS TEXT) AS limit_key, j.priority FROM jsonb_each(CAST(CAST(@keys AS TEXT) AS jsonb)) AS m (key, value) CROSS JOIN jsonb_array_elements_text(m.value) AS e (value)
CROSS JOIN LATERAL (
    SELECT i.id, i.kind, i.limit_key, i.priority, i.run_after FROM sqluice_jobs AS i
    WHERE i.status = 'waiting' AND i.kind = m.key AND i.limit_key = e.value AND i.queue = @queue
      AND NOT EXISTS (SELECT 1 FROM sqluice_refusals AS f WHERE f.job_id = i.id AND f.action IN ('claim', 'conflict') AND f.again_at > CAST(@now AS BIGINT) LIMIT 1 OFFSET 0)
    ORDER BY i.priority DESC, i.run_after, i.id LIMIT @n
    FOR NO KEY UPDATE SKIP LOCKED
) AS j
ORDER BY j.priority DESC, j.run_after, j.id;

-- name: StartWaitingJobs :many
-- StartWaitingJobs hands waiting jobs, a JSON list of ids, to a worker. LockLaneJobs has listed them. The rows are as ClaimJobs returns them, with the limit key.
UPDATE sqluice_jobs SET updated_at = @now, status = 'running', attempt = attempt + 1,
                worker_id = CAST(@worker_id AS BIGINT), lease_until = CAST(@lease_until AS BIGINT), started_at = @now, finished_at = NULL, prefetched = NULL
WHERE id = ANY (CAST((SELECT sqluice_ids(@ids)) AS BIGINT[])) AND COALESCE(status, '') = 'waiting'
RETURNING id, kind, payload, priority, run_after, start_by, attempt, uncounted, max_attempts, crashes, timeout,
          unique_key, request_id, user_id, tags, metadata, created_at, CAST(limit_key AS TEXT) AS limit_key;

-- name: StartLaneJobs :many
-- StartLaneJobs hands up to n waiting jobs of each lane of a queue to a worker, the best first, of a JSON object with a list of keys for each
-- kind. Their priority is least or higher. It leaves out jobs that are set aside, and locked ones (on SQLite there are none). The rows are as StartWaitingJobs returns them.
UPDATE sqluice_jobs SET updated_at = @now, status = 'running', attempt = attempt + 1,
                worker_id = CAST(@worker_id AS BIGINT), lease_until = CAST(@lease_until AS BIGINT), started_at = @now, finished_at = NULL, prefetched = NULL
WHERE id = ANY (ARRAY(
    SELECT j.id FROM jsonb_each(CAST(CAST(@keys AS TEXT) AS jsonb)) AS m (key, value) CROSS JOIN jsonb_array_elements_text(m.value) AS e (value)
    CROSS JOIN LATERAL (
        SELECT i.id, CAST(CASE WHEN i.priority >= CAST(@least AS BIGINT) THEN 1 ELSE 0 END AS BIGINT) AS starts FROM sqluice_jobs AS i
        WHERE i.status = 'waiting' AND i.kind = m.key AND i.limit_key = e.value AND i.queue = @queue
          AND ((SELECT n.job_id FROM sqluice_refusals AS n ORDER BY n.job_id LIMIT 1) IS NULL /* mostly, and read once */
            OR NOT EXISTS (SELECT 1 FROM sqluice_refusals AS f WHERE f.job_id = i.id AND f.action IN ('claim', 'conflict') AND f.again_at > @now LIMIT 1 OFFSET 0))
        ORDER BY i.priority DESC, i.run_after, i.id LIMIT @n
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS j
    WHERE j.starts = 1
))
RETURNING id, kind, payload, priority, run_after, start_by, attempt, uncounted, max_attempts, crashes, timeout,
          unique_key, request_id, user_id, tags, metadata, created_at, CAST(limit_key AS TEXT) AS limit_key;

-- name: SpendStarts :exec
-- SpendStarts notes until when starts have used up the rates of limits, a JSON list of [scope, name, key, time].
INSERT INTO sqluice_limit_keys (scope, name, limit_key, paid_until)
SELECT e.value->>0, e.value->>1, e.value->>2, CAST(e.value->>3 AS BIGINT) FROM jsonb_array_elements(CAST(CAST(@items AS TEXT) AS jsonb)) AS e (value)
ON CONFLICT (scope, name, limit_key) DO UPDATE SET paid_until = excluded.paid_until;

-- name: SetLanes :execrows
-- SetLanes notes when the lanes of a queue, a JSON list of [kind, key, time, held], are ready again, and the priorities of their next jobs. It
-- leaves out lanes without a waiting job. The condition on refusals is always true. It seems to cost much, beside which the indexes with the
-- key of a lane cost about the same, and then PostgreSQL takes the one in the order of the jobs, and does not sort all jobs of a lane.
INSERT INTO sqluice_lanes (kind, limit_key, queue, priority, ready_at, held)
SELECT e.value->>0, e.value->>1, CAST(@queue AS TEXT), j.priority, CAST(e.value->>2 AS BIGINT), CAST(e.value->>3 AS BIGINT)
FROM jsonb_array_elements(CAST(CAST(@items AS TEXT) AS jsonb)) AS e (value)
CROSS JOIN LATERAL (
    SELECT i.priority FROM sqluice_jobs AS i
    WHERE i.status = 'waiting' AND i.kind = e.value->>0 AND i.limit_key = e.value->>1 AND i.queue = @queue
      AND NOT EXISTS (SELECT 1 FROM sqluice_refusals AS f WHERE f.job_id = i.id AND f.action = '' LIMIT 1 OFFSET 0) /* always true: see SetLanes */
    ORDER BY i.priority DESC, i.run_after, i.id LIMIT 1
) AS j
ON CONFLICT (kind, limit_key, queue) DO UPDATE SET ready_at = excluded.ready_at, priority = excluded.priority, held = excluded.held;

-- name: DeleteEmptyLanes :execrows
-- DeleteEmptyLanes removes the lanes of a queue, a JSON object with a list of keys for each kind, that have no waiting job.
DELETE FROM sqluice_lanes AS t USING (
    SELECT l.kind, l.limit_key, l.queue FROM jsonb_each(CAST(CAST(@keys AS TEXT) AS jsonb)) AS m (key, value) CROSS JOIN jsonb_array_elements_text(m.value) AS e (value)
    CROSS JOIN LATERAL (
        SELECT i.kind, i.limit_key, i.queue FROM sqluice_lanes AS i
        WHERE i.kind = m.key AND i.limit_key = e.value AND i.queue = @queue
          AND NOT EXISTS (
            SELECT 1 FROM sqluice_jobs AS j
            WHERE j.status = 'waiting' AND j.kind = i.kind AND j.limit_key = i.limit_key AND j.queue = i.queue
              AND NOT EXISTS (SELECT 1 FROM sqluice_refusals AS f WHERE f.job_id = j.id AND f.action = '' LIMIT 1 OFFSET 0) /* always true: see SetLanes */
            ORDER BY j.priority DESC, j.run_after, j.id LIMIT 1 OFFSET 0)
        OFFSET 0
    ) AS l
) AS u WHERE t.kind = u.kind AND t.limit_key = u.limit_key AND t.queue = u.queue;

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
    LIMIT @n FOR UPDATE SKIP LOCKED);
