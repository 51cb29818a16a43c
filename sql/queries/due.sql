-- name: GetNextRunAfter :one
-- GetNextRunAfter returns the time at which the first scheduled job falls due; 0 when none is scheduled, so 1 for a job due at 0.
SELECT CAST(COALESCE((
    SELECT CASE s.run_after WHEN 0 THEN 1 ELSE s.run_after END FROM sqluice_jobs AS s
    WHERE s.status = 'scheduled' ORDER BY s.run_after LIMIT 1 /* and not MIN, for which PostgreSQL may read them all */
), 0) AS BIGINT) AS run_after;
