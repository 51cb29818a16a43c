-- name: ListWaitingLanes :many
-- ListWaitingLanes lists the first n kinds, keys and queues after one that have waiting jobs, with the priority of the best job. has_lane
-- is 1 for those with a lane. It skips from one to the next in the index, so that its cost does not grow with the jobs: SQLite would read all
-- jobs of a lane to find (kind, limit_key, queue) > it.
WITH RECURSIVE w (id, kind, limit_key, queue) AS (
    SELECT CAST(0 AS BIGINT), CAST(@after_kind AS TEXT), CAST(@after_key AS TEXT), CAST(@after_queue AS TEXT)
    UNION ALL
    SELECT j.id, j.kind, j.limit_key, j.queue
    FROM w CROSS JOIN sqluice_jobs AS j ON j.id = COALESCE((
        SELECT q.id FROM sqluice_jobs AS q WHERE q.status = 'waiting' AND q.kind = w.kind AND q.limit_key = w.limit_key AND q.queue > w.queue
        ORDER BY q.queue, q.priority DESC, q.run_after, q.id LIMIT 1
    ), (
        SELECT l.id FROM sqluice_jobs AS l WHERE l.status = 'waiting' AND l.kind = w.kind AND l.limit_key > w.limit_key
        ORDER BY l.limit_key, l.queue, l.priority DESC, l.run_after, l.id LIMIT 1
    ), (
        SELECT k.id FROM sqluice_jobs AS k WHERE k.status = 'waiting' AND k.kind > w.kind
        ORDER BY k.kind, k.limit_key, k.queue, k.priority DESC, k.run_after, k.id LIMIT 1
    ))
    LIMIT CAST(@n AS BIGINT) + 1
)
SELECT f.kind, CAST(f.limit_key AS TEXT) AS limit_key, f.queue, f.priority, CAST(EXISTS (
    SELECT 1 FROM sqluice_lanes AS e WHERE e.kind = f.kind AND e.limit_key = f.limit_key AND e.queue = f.queue
) AS BIGINT) AS has_lane
FROM w JOIN sqluice_jobs AS f ON f.id = w.id;

-- name: WakeLateLanes :execrows
-- WakeLateLanes makes the lanes of keys, a JSON object with a list of keys for each kind, ready that are ready only after a time. LockLanes comes before it.
UPDATE sqluice_lanes SET ready_at = CAST(@now AS BIGINT), held = 0
WHERE (kind, limit_key) IN (SELECT m.key, k.value FROM json_each(CAST(@keys AS TEXT)) AS m CROSS JOIN json_each(m.value) AS k) AND ready_at > CAST(@late AS BIGINT);
