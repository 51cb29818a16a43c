-- name: FindJobs :many
-- FindJobs finds those jobs of a JSON list of ids that all filters mean, the highest id first, and how many bytes their
-- large columns have. The text may be in several columns; ASCII letters are the same in both cases, and all others are not.
-- Tags that are no JSON list have no elements. The test for NULL comes first in each filter: SQLite reads the payload of a job before any
-- column behind it, and without filters this statement reads no payload.
SELECT j.id, octet_length(j.payload) + COALESCE(octet_length(j.metadata), 0) + COALESCE(octet_length(j.progress), 0)
    + COALESCE(octet_length(j.result), 0) + COALESCE(octet_length(j.last_error), 0) + COALESCE(octet_length(j.tags), 0) AS bytes
FROM sqluice_jobs AS j
WHERE j.id IN (SELECT e.value FROM json_each(CAST(@ids AS TEXT)) AS e)
  AND (CAST(sqlc.narg('status') AS TEXT) IS NULL OR j.status = CAST(sqlc.narg('status') AS TEXT))
  AND (CAST(sqlc.narg('kind') AS TEXT) IS NULL OR j.kind = sqlc.narg('kind'))
  AND (CAST(sqlc.narg('queue') AS TEXT) IS NULL OR j.queue = sqlc.narg('queue'))
  AND (CAST(sqlc.narg('user_id') AS TEXT) IS NULL OR j.user_id = sqlc.narg('user_id'))
  AND (CAST(sqlc.narg('tag') AS TEXT) IS NULL OR CASE WHEN json_valid(j.tags) THEN json_type(j.tags) END = 'array' AND EXISTS (
    SELECT 1 FROM json_each(CASE WHEN json_valid(j.tags) THEN j.tags END) AS t WHERE t.type = 'text' AND t.value = sqlc.narg('tag')))
  AND (CAST(sqlc.narg('text') AS TEXT) IS NULL
       OR CAST(j.id AS TEXT) = sqlc.narg('text')
       OR instr(lower(j.kind), lower(sqlc.narg('text'))) > 0
       OR instr(lower(j.request_id), lower(sqlc.narg('text'))) > 0
       OR instr(lower(j.unique_key), lower(sqlc.narg('text'))) > 0
       OR instr(lower(j.user_id), lower(sqlc.narg('text'))) > 0
       OR instr(lower(j.last_error), lower(sqlc.narg('text'))) > 0 AND substr(j.last_error, 1, 18) <> 'sqluice:encrypted:'
       OR instr(lower(j.payload), lower(sqlc.narg('text'))) > 0 AND substr(j.payload, 1, 19) <> '"sqluice:encrypted:'
          AND NOT EXISTS (SELECT 1 FROM sqluice_sensitive_fields AS m WHERE m.kind = j.kind))
ORDER BY j.id DESC LIMIT @n;

-- name: ListJobs :many
-- ListJobs lists the jobs of a JSON list of ids, the highest id first.
SELECT j.* FROM sqluice_jobs AS j WHERE j.id IN (SELECT e.value FROM json_each(CAST(@ids AS TEXT)) AS e) ORDER BY j.id DESC;

-- name: ListEndedJobIDs :many
-- ListEndedJobIDs lists the ids of jobs that failed or were cancelled, the highest first, below an id: a step of a search.
SELECT j.id FROM sqluice_jobs AS j
WHERE (j.status = 'failed' OR j.status = 'cancelled') AND j.status = CAST(@status AS TEXT)
  AND j.id < @before_id
ORDER BY j.id DESC LIMIT @n;

-- name: ListEndedAmong :many
-- ListEndedAmong lists those of a JSON list of ids whose job has ended or is not there.
SELECT CAST(e.value AS BIGINT) AS id FROM json_each(CAST(@ids AS TEXT)) AS e
WHERE NOT EXISTS (SELECT 1 FROM sqluice_jobs AS j WHERE j.id = e.value AND j.status NOT IN ('done', 'failed', 'cancelled'));
