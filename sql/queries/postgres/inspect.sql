-- name: ListJobs :many
-- ListJobs lists jobs, newest first, below an id. Tags that are no JSON list have no elements.
SELECT j.* FROM jobs AS j
WHERE j.id < CAST(@before_id AS BIGINT)
  AND (CAST(sqlc.narg('status') AS TEXT) IS NULL OR j.status = CAST(sqlc.narg('status') AS TEXT))
  AND (CAST(sqlc.narg('kind') AS TEXT) IS NULL OR j.kind = CAST(sqlc.narg('kind') AS TEXT))
  AND (CAST(sqlc.narg('queue') AS TEXT) IS NULL OR j.queue = CAST(sqlc.narg('queue') AS TEXT))
  AND (CAST(sqlc.narg('user_id') AS TEXT) IS NULL OR j.user_id = CAST(sqlc.narg('user_id') AS TEXT))
  AND (CAST(sqlc.narg('tag') AS TEXT) IS NULL OR EXISTS (
    SELECT 1 FROM json_array_elements(
        CASE json_typeof(CAST(j.tags AS json)) WHEN 'array' THEN CAST(j.tags AS json) END) AS t (value)
    WHERE CASE /* Other programs may escape what the library does not. Text cannot hold a NUL or half a surrogate pair. */
        WHEN CAST(t.value AS TEXT) = CAST(to_json(CAST(sqlc.narg('tag') AS TEXT)) AS TEXT) THEN true
        WHEN regexp_replace(CAST(t.value AS TEXT), E'\\\\\\\\|\\\\ud[89ab]..\\\\ud[c-f]..', '', 'gi') ~* E'\\\\u(0000|d[89a-f])' THEN false
        ELSE json_typeof(t.value) = 'string' AND t.value #>> '{}' = CAST(sqlc.narg('tag') AS TEXT) END))
ORDER BY j.id DESC LIMIT CAST(@n AS BIGINT);
