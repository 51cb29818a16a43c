-- name: ListWaitingLanes :many
-- ListWaitingLanes lists the first n kinds, keys and queues after one that have waiting jobs, with the priority of the best job. has_lane
-- is 1 for those with a lane. It skips from one to the next in the index, so that its cost does not grow with the jobs.
WITH RECURSIVE w (id) AS (
    SELECT (
        SELECT f.id FROM sqluice_jobs AS f
        WHERE f.status = 'waiting' AND (f.kind, f.limit_key, f.queue) > (CAST(@after_kind AS TEXT), CAST(@after_key AS TEXT), CAST(@after_queue AS TEXT))
        ORDER BY f.kind, f.limit_key, f.queue, f.priority DESC, f.run_after, f.id LIMIT 1)
    UNION ALL
    SELECT (
        SELECT n.id FROM sqluice_jobs AS n
        WHERE n.status = 'waiting' AND (n.kind, n.limit_key, n.queue) > (p.kind, p.limit_key, p.queue)
        ORDER BY n.kind, n.limit_key, n.queue, n.priority DESC, n.run_after, n.id LIMIT 1)
    FROM w JOIN sqluice_jobs AS p ON p.id = w.id
    LIMIT CAST(@n AS BIGINT)
)
SELECT j.kind, CAST(j.limit_key AS TEXT) AS limit_key, j.queue, j.priority, CAST(EXISTS (
    SELECT 1 FROM sqluice_lanes AS l WHERE l.kind = j.kind AND l.limit_key = j.limit_key AND l.queue = j.queue
) AS BIGINT) AS has_lane
FROM w JOIN sqluice_jobs AS j ON j.id = w.id;

-- name: WakeLateLanes :execrows
-- WakeLateLanes makes the lanes of keys, a JSON list of [kind, key], ready that are ready only after a time. LockLanes comes before it.
UPDATE sqluice_lanes SET ready_at = CAST(@now AS BIGINT), held = 0
WHERE (kind, limit_key) IN (SELECT k.value->>0, k.value->>1 FROM json_each(CAST(@keys AS TEXT)) AS k) AND ready_at > CAST(@late AS BIGINT);
