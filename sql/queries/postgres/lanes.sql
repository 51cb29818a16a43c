-- name: ListWaitingLanes :many
-- ListWaitingLanes lists the first n kinds, keys and queues after one that have waiting jobs, with the priority of the best job. has_lane
-- is 1 for those with a lane. It skips from one to the next in the index, so that its cost does not grow with the jobs.
WITH RECURSIVE w (kind, limit_key, queue, priority, n) AS (
    (SELECT f.kind, f.limit_key, f.queue, f.priority, CAST(@n AS BIGINT) AS n FROM sqluice_jobs AS f
     WHERE f.status = 'waiting' AND (f.kind, f.limit_key, f.queue) > (CAST(@after_kind AS TEXT), CAST(@after_key AS TEXT), CAST(@after_queue AS TEXT))
     ORDER BY f.kind, f.limit_key, f.queue, f.priority DESC, f.run_after, f.id LIMIT 1)
    UNION ALL
    SELECT i.kind, i.limit_key, i.queue, i.priority, w.n - 1 FROM w CROSS JOIN LATERAL (
        SELECT x.kind, x.limit_key, x.queue, x.priority FROM sqluice_jobs AS x
        WHERE x.status = 'waiting' AND (x.kind, x.limit_key, x.queue) > (w.kind, w.limit_key, w.queue)
        ORDER BY x.kind, x.limit_key, x.queue, x.priority DESC, x.run_after, x.id LIMIT 1
    ) AS i
    WHERE w.n > 1
)
SELECT w.kind, CAST(w.limit_key AS TEXT) AS limit_key, w.queue, w.priority, CAST(CASE WHEN EXISTS (
    SELECT 1 FROM sqluice_lanes AS l WHERE l.kind = w.kind AND l.limit_key = w.limit_key AND l.queue = w.queue LIMIT 1 OFFSET 0
) THEN 1 ELSE 0 END AS BIGINT) AS has_lane
FROM w;

-- name: WakeLateLanes :execrows
-- WakeLateLanes makes the lanes of keys, a JSON object with a list of keys for each kind, ready that are ready only after a time. LockLanes comes before it.
INSERT INTO sqluice_lanes (kind, limit_key, queue, priority, ready_at)
SELECT l.kind, l.limit_key, l.queue, l.priority, CAST(@now AS BIGINT) FROM jsonb_each(CAST(CAST(@keys AS TEXT) AS jsonb)) AS m (key, value) CROSS JOIN jsonb_array_elements_text(m.value) AS k (value)
CROSS JOIN LATERAL (
    SELECT i.kind, i.limit_key, i.queue, i.priority FROM sqluice_lanes AS i
    WHERE i.kind = m.key AND i.limit_key = k.value AND i.ready_at > CAST(@late AS BIGINT) OFFSET 0
) AS l
ON CONFLICT (kind, limit_key, queue) DO UPDATE SET ready_at = excluded.ready_at, held = 0;
