-- name: ListOrders :many
-- ListOrders lists up to n orders behind one, each with the state of the job that ships it. The status is 'none' for an order without a
-- job, such as one whose job was pruned.
SELECT o.item, o.shipments, CAST(COALESCE(j.status, 'none') AS TEXT) AS status, CAST(COALESCE(j.attempt, 0) AS BIGINT) AS attempt,
       CAST(COALESCE(j.last_error, '') AS TEXT) AS last_error
FROM orders AS o LEFT JOIN sqluice_jobs AS j ON j.kind = 'ship-order' AND j.request_id = o.item
WHERE o.item > @after ORDER BY o.item LIMIT CAST(@n AS BIGINT);

-- name: ListFailedOrders :many
-- ListFailedOrders lists up to n orders whose jobs failed since a time, in unix microseconds, the latest first.
SELECT o.item, j.id AS job_id, CAST(j.finished_at AS BIGINT) AS failed_at, CAST(COALESCE(j.last_error, '') AS TEXT) AS last_error
FROM sqluice_jobs AS j JOIN orders AS o ON o.item = j.request_id
WHERE j.kind = 'ship-order' AND j.status = 'failed' AND j.finished_at >= CAST(@since AS BIGINT)
ORDER BY j.finished_at DESC LIMIT CAST(@n AS BIGINT);
