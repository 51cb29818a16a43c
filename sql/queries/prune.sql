-- name: GetPruneStep :one
-- GetPruneStep looks at the n jobs after an id: where they end, when the first of them was created, and how many are
-- done since before a time. last_id is 0 when there is none.
SELECT CAST(COALESCE(MAX(s.id), 0) AS BIGINT) AS last_id, CAST(COALESCE(MIN(s.created_at), 0) AS BIGINT) AS created_at,
       CAST(COALESCE(SUM(CASE WHEN s.status = 'done' AND s.finished_at < CAST(@before AS BIGINT) THEN 1 ELSE 0 END), 0) AS BIGINT) AS expired
FROM (
    SELECT j.id, j.created_at, j.status, j.finished_at FROM sqluice_jobs AS j
    WHERE j.id > CAST(@after AS BIGINT) ORDER BY j.id LIMIT CAST(@n AS BIGINT)
) AS s;
