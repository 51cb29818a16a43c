-- name: GetNextRunAfter :one
-- GetNextRunAfter is the time at which the first scheduled job falls due; 0 when none is scheduled.
SELECT CAST(COALESCE(MIN(j.run_after), 0) AS BIGINT) AS run_after FROM jobs AS j WHERE j.status = 'scheduled';
