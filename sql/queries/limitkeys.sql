-- name: ListLimitKeys :many
-- ListLimitKeys lists up to n limit keys of a kind that have a running or a waiting job, in their order from the first one on.
SELECT u.limit_key FROM (
    SELECT b.limit_key FROM (
        SELECT CAST(l.limit_key AS TEXT) AS limit_key FROM sqluice_lanes AS l WHERE l.kind = @kind AND l.limit_key >= @first_key
        GROUP BY l.limit_key ORDER BY l.limit_key LIMIT CAST(@n AS BIGINT)) AS b
    UNION
    SELECT c.limit_key FROM (
        SELECT CAST(r.limit_key AS TEXT) AS limit_key FROM sqluice_jobs AS r
        WHERE r.status = 'running' AND r.limit_key IS NOT NULL AND r.kind = @kind AND r.limit_key >= @first_key
        GROUP BY r.limit_key ORDER BY r.limit_key LIMIT CAST(@n AS BIGINT)) AS c
) AS u
ORDER BY u.limit_key LIMIT CAST(@n AS BIGINT);

-- name: CountLimitKeys :many
-- CountLimitKeys counts by kind, in several rows each, the running jobs with a limit key, the limit keys with waiting jobs, and those of them
-- whose jobs run in order and whose first job could not start when a claim last looked.
SELECT r.kind, COUNT(*) AS running, CAST(0 AS BIGINT) AS keys, CAST(0 AS BIGINT) AS held
FROM sqluice_jobs AS r WHERE r.limit_key IS NOT NULL AND r.status = 'running' GROUP BY r.kind
UNION ALL
SELECT l.kind, CAST(0 AS BIGINT) AS running, COUNT(DISTINCT l.limit_key) AS keys,
       COUNT(DISTINCT CASE WHEN l.held = 1 THEN l.limit_key END) AS held FROM sqluice_lanes AS l GROUP BY l.kind;
