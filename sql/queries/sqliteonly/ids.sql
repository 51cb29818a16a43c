-- name: KeepLastID :exec
-- KeepLastID has new jobs get ids above one, by a row of the status 'deleted' behind it, unless there is a later row.
INSERT INTO sqluice_jobs (id, kind, status, created_at, updated_at, run_after)
SELECT CAST(@id AS BIGINT) + 1, 'deleted', 'deleted', 0, 0, 0
WHERE @id >= (SELECT COALESCE(MAX(j.id), 0) FROM sqluice_jobs AS j);

-- name: FreeIDs :exec
-- FreeIDs removes the row of the status 'deleted' that keeps an id, when a later row keeps it.
DELETE FROM sqluice_jobs WHERE status = 'deleted' AND id < (SELECT MAX(j.id) FROM sqluice_jobs AS j);
