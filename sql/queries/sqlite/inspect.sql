-- name: ListJobs :many
-- ListJobs lists jobs, newest first, below an id. Tags that are no JSON list have no elements.
SELECT j.* FROM jobs AS j
WHERE j.id < CAST(@before_id AS BIGINT)
  AND (CAST(sqlc.narg('status') AS TEXT) IS NULL OR j.status = CAST(sqlc.narg('status') AS TEXT))
  AND (CAST(sqlc.narg('kind') AS TEXT) IS NULL OR j.kind = CAST(sqlc.narg('kind') AS TEXT))
  AND (CAST(sqlc.narg('queue') AS TEXT) IS NULL OR j.queue = CAST(sqlc.narg('queue') AS TEXT))
  AND (CAST(sqlc.narg('user_id') AS TEXT) IS NULL OR j.user_id = CAST(sqlc.narg('user_id') AS TEXT))
  AND (CAST(sqlc.narg('tag') AS TEXT) IS NULL OR json_type(j.tags) = 'array' AND EXISTS (
    SELECT 1 FROM json_each(j.tags) AS t WHERE t.type = 'text' AND t.value = CAST(sqlc.narg('tag') AS TEXT)))
ORDER BY j.id DESC LIMIT CAST(@n AS BIGINT);
