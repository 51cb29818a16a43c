-- name: GetNextRunAfter :one
-- GetNextRunAfter is the time at which the first scheduled job falls due; 0 when none is scheduled, so 1 for a job due at 0.
SELECT CAST(CASE WHEN MIN(j.run_after) = 0 THEN 1 ELSE COALESCE(MIN(j.run_after), 0) END AS BIGINT) AS run_after
FROM sqluice_jobs AS j WHERE j.status = 'scheduled';
