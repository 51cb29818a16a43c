-- name: FindJobs :many
-- FindJobs finds those jobs of a JSON list of ids that all filters mean, the highest id first, and how many bytes their
-- large columns have. The text may be in several columns; ASCII letters are the same in both cases, and all others are not.
-- Tags that are no JSON list have no elements.
SELECT j.id, CAST(octet_length(j.payload) + COALESCE(octet_length(j.metadata), 0) + COALESCE(octet_length(j.progress), 0)
    + COALESCE(octet_length(j.result), 0) + COALESCE(octet_length(j.last_error), 0) + COALESCE(octet_length(j.tags), 0) AS BIGINT) AS bytes
FROM sqluice_jobs AS j
WHERE j.id = ANY (CAST((SELECT sqluice_ids(@ids)) AS BIGINT[]))
  AND (j.status = CAST(sqlc.narg('status') AS TEXT) OR sqlc.narg('status') IS NULL)
  AND (j.kind = sqlc.narg('kind') OR sqlc.narg('kind') IS NULL)
  AND (j.queue = sqlc.narg('queue') OR sqlc.narg('queue') IS NULL)
  AND (j.user_id = sqlc.narg('user_id') OR sqlc.narg('user_id') IS NULL)
  AND (CAST(sqlc.narg('tag') AS TEXT) IS NULL OR EXISTS (
    SELECT 1 FROM json_array_elements(
        CASE json_typeof(CAST(j.tags AS json)) WHEN 'array' THEN CAST(j.tags AS json) END) AS t (value)
    WHERE CASE /* Other programs may escape what the library does not. Text cannot hold a NUL or half a surrogate pair. */
        WHEN CAST(t.value AS TEXT) = CAST(to_json(sqlc.narg('tag')) AS TEXT) THEN true
        WHEN regexp_replace(CAST(t.value AS TEXT), E'\\\\\\\\|\\\\ud[89ab]..\\\\ud[c-f]..', '', 'gi') ~* E'\\\\u(0000|d[89a-f])' THEN false
        ELSE json_typeof(t.value) = 'string' AND t.value #>> '{}' = sqlc.narg('tag') END))
  AND (CAST(sqlc.narg('text') AS TEXT) IS NULL
       OR CAST(j.id AS TEXT) = sqlc.narg('text')
       OR strpos(lower(j.kind COLLATE "C"), lower(sqlc.narg('text') COLLATE "C")) > 0
       OR strpos(lower(j.request_id COLLATE "C"), lower(sqlc.narg('text') COLLATE "C")) > 0
       OR strpos(lower(j.unique_key COLLATE "C"), lower(sqlc.narg('text') COLLATE "C")) > 0
       OR strpos(lower(j.user_id COLLATE "C"), lower(sqlc.narg('text') COLLATE "C")) > 0
       OR strpos(lower(j.last_error COLLATE "C"), lower(sqlc.narg('text') COLLATE "C")) > 0
          AND substr(j.last_error, 1, 18) <> 'sqluice:encrypted:'
       OR strpos(lower(j.payload COLLATE "C"), lower(sqlc.narg('text') COLLATE "C")) > 0
          AND substr(j.payload, 1, 19) <> '"sqluice:encrypted:'
          AND NOT EXISTS (SELECT 1 FROM sqluice_sensitive_fields AS m WHERE m.kind = j.kind))
ORDER BY j.id DESC LIMIT @n;

-- name: ListJobs :many
-- ListJobs lists the jobs of a JSON list of ids, the highest id first.
SELECT j.* FROM sqluice_jobs AS j
WHERE j.id = ANY (CAST((SELECT sqluice_ids(@ids)) AS BIGINT[]))
ORDER BY j.id DESC;

-- name: ListEndedJobIDs :many
-- ListEndedJobIDs lists the ids of jobs that failed or were cancelled, the highest first, below an id: a step of a search.
SELECT j.id FROM sqluice_jobs AS j
WHERE (j.status = 'failed' OR j.status = 'cancelled') AND j.status = ANY (ARRAY[@status])
  AND j.id < @before_id
ORDER BY j.status DESC, /* as sqluice_jobs_ended is ordered: for the order of ids alone the server may go through all jobs */
         j.id DESC LIMIT @n;

-- name: ListEndedAmong :many
-- ListEndedAmong lists those of a JSON list of ids whose job has ended or is not there.
SELECT CAST(e.id AS BIGINT) AS id FROM unnest(sqluice_ids(@ids)) AS e (id)
WHERE NOT EXISTS (SELECT 1 FROM sqluice_jobs AS j WHERE j.id = e.id AND j.status NOT IN ('done', 'failed', 'cancelled'));
