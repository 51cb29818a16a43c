-- name: ListLanes :many
-- ListLanes lists the first n lanes after one, in the order of their names. parked is 1 for a lane that waits for the end of a job, and
-- empty for one without a waiting job. Beside the texts with || '' SQLite finds the lane by all columns of the index, beside those of a CAST
-- alone by the first one.
SELECT l.kind, l.limit_key, l.queue, CAST(CASE WHEN l.ready_at IS NULL THEN 1 ELSE 0 END AS BIGINT) AS parked,
       CAST(CASE WHEN EXISTS (
           SELECT 1 FROM sqluice_jobs AS j
           WHERE j.status = 'waiting' AND j.kind = l.kind AND j.limit_key = l.limit_key AND j.queue = l.queue LIMIT 1 OFFSET 0
       ) THEN 0 ELSE 1 END AS BIGINT) AS empty
FROM sqluice_lanes AS l
WHERE (l.kind, l.limit_key, l.queue) > (CAST(@after_kind AS TEXT) || '', CAST(@after_key AS TEXT) || '', CAST(@after_queue AS TEXT) || '')
ORDER BY l.kind, l.limit_key, l.queue LIMIT CAST(@n AS BIGINT);

-- name: ListParkedLanes :many
-- ListParkedLanes lists the first n lanes after one that wait for the end of a job, by queue, kind and key.
SELECT l.kind, l.limit_key, l.queue FROM sqluice_lanes AS l
WHERE l.ready_at IS NULL
  AND (l.queue, l.kind, l.limit_key) > (CAST(@after_queue AS TEXT) || '', CAST(@after_kind AS TEXT) || '', CAST(@after_key AS TEXT) || '')
ORDER BY l.queue, l.kind, l.limit_key LIMIT CAST(@n AS BIGINT);

-- name: ListLateLanes :many
-- ListLateLanes lists up to n keys with lanes that are ready only after a time.
SELECT l.kind, l.limit_key FROM sqluice_lanes AS l WHERE l.ready_at > CAST(@late AS BIGINT) GROUP BY l.kind, l.limit_key LIMIT CAST(@n AS BIGINT);
