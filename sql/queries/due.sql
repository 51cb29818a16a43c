-- name: GetNextRunAfter :one
-- GetNextRunAfter returns the time at which the first scheduled job falls due; 0 when none is scheduled, so 1 for a job due at 0. limited is
-- that time for the jobs with a limit key. lanes is 1 when a lane is or will be ready by itself, whole when a limit of a whole kind or queue is set.
SELECT CAST(COALESCE((
    SELECT CASE s.run_after WHEN 0 THEN 1 ELSE s.run_after END FROM sqluice_jobs AS s
    WHERE s.status = 'scheduled' AND s.limit_key IS NULL ORDER BY s.run_after LIMIT 1 /* and not MIN, for which PostgreSQL may read them all */
), 0) AS BIGINT) AS run_after, CAST(COALESCE((
    SELECT CASE t.run_after WHEN 0 THEN 1 ELSE t.run_after END FROM sqluice_jobs AS t
    WHERE t.limit_key IS NOT NULL AND t.status = 'scheduled' ORDER BY t.run_after LIMIT 1
), 0) AS BIGINT) AS limited, CAST(COALESCE((
    SELECT 1 FROM sqluice_lanes AS l WHERE l.ready_at IS NOT NULL ORDER BY l.queue, l.kind LIMIT 1
), 0) AS BIGINT) AS lanes, CAST(COALESCE((
    SELECT 1 FROM sqluice_limits AS w WHERE w.limit_key = '' AND (w.scope <> 'queue' OR w.running + w.starts > 0) LIMIT 1
), 0) AS BIGINT) AS whole;
