-- name: GetScheduleWork :one
-- GetScheduleWork returns the next tick of the schedules that a worker serves, -1 for none, how many schedules owe a job, when the
-- next pause of a queue or a kind ends, 0 for none (so 1 for one that ends at 0), and by when the first job must start that has to,
-- 0 for none. free is 1 when the unique key of a successor is free, and parked when a lane waits for the end of a job. declared is a
-- JSON list of the schedules that the worker's program declares.
SELECT CAST(COALESCE((
           SELECT s.next_at FROM sqluice_schedules AS s
           WHERE s.paused_at IS NULL AND s.origin = 'client' ORDER BY s.next_at LIMIT 1
       ), -1) AS BIGINT) AS next_at,
       CAST(COALESCE((
           SELECT MIN(c.next_at) FROM sqluice_schedules AS c
           WHERE c.paused_at IS NULL AND c.origin = 'code' AND c.name IN (SELECT d.value FROM jsonb_array_elements_text(CAST(CAST(@declared AS TEXT) AS jsonb)) AS d (value))
       ), -1) AS BIGINT) AS next_declared,
       (SELECT COUNT(*) FROM sqluice_schedules AS o WHERE o.owed_at IS NOT NULL) AS owed,
       CAST(COALESCE((SELECT MIN(CASE WHEN p.paused_until = 0 THEN 1 ELSE p.paused_until END) FROM sqluice_pauses AS p), 0) AS BIGINT) AS pause_end,
       CAST(COALESCE((
           SELECT 1 FROM sqluice_jobs AS f WHERE f.successor_at IS NOT NULL AND NOT EXISTS (
               SELECT 1 FROM sqluice_jobs AS h WHERE h.kind = f.kind AND h.unique_key = f.unique_key AND h.unique_key IS NOT NULL
                 AND h.successor_at IS NULL AND h.status IN ('scheduled', 'waiting', 'pending', 'running'))
           ORDER BY f.kind, f.unique_key LIMIT 1 /* by the index of successors */
       ), 0) AS BIGINT) AS free,
       CAST(COALESCE((
           SELECT x.start_by FROM sqluice_jobs AS x
           WHERE x.start_by IS NOT NULL AND x.status IN ('scheduled', 'waiting', 'pending') ORDER BY x.start_by LIMIT 1
       ), 0) AS BIGINT) AS start_by,
       CAST(COALESCE((
           SELECT 1 FROM sqluice_lanes AS n WHERE n.ready_at IS NULL
           ORDER BY n.kind, n.limit_key, n.queue LIMIT 1 /* by the index of parked lanes */
       ), 0) AS BIGINT) AS parked;

-- name: ListDueSchedules :many
-- ListDueSchedules lists the schedules that are due and that a worker serves, the most overdue ones first, and those that owe a job
-- whose predecessor has ended. Of those that no code declares it leaves out the new ones, which ListNewSchedules lists. declared is as for
-- GetScheduleWork, and without is a JSON list of schedules to leave out.
SELECT u.name FROM (
    SELECT a.name, a.next_at FROM (
        SELECT s.name, s.next_at FROM sqluice_schedules AS s
        WHERE s.paused_at IS NULL AND s.origin = 'client' AND s.next_at <= @now AND s.next_at > 0
          AND s.name NOT IN (SELECT w.value FROM jsonb_array_elements_text(CAST(CAST(@without AS TEXT) AS jsonb)) AS w (value))
        ORDER BY s.next_at LIMIT @n
    ) AS a
    UNION
    SELECT c.name, c.next_at FROM sqluice_schedules AS c
    WHERE c.paused_at IS NULL AND c.origin = 'code' AND c.next_at <= @now
      AND c.name IN (SELECT d.value FROM jsonb_array_elements_text(CAST(CAST(@declared AS TEXT) AS jsonb)) AS d (value)) AND c.name NOT IN (SELECT x.value FROM jsonb_array_elements_text(CAST(@without AS jsonb)) AS x (value))
    UNION
    SELECT o.name, o.owed_at FROM sqluice_schedules AS o LEFT JOIN sqluice_jobs AS j ON j.id = o.last_job_id
    WHERE o.owed_at IS NOT NULL AND o.paused_at IS NULL
      AND (j.status IS NULL OR j.status NOT IN ('scheduled', 'waiting', 'pending', 'running'))
      AND (o.origin = 'client' OR o.name IN (SELECT e.value FROM jsonb_array_elements_text(CAST(@declared AS jsonb)) AS e (value))) AND o.name NOT IN (SELECT y.value FROM jsonb_array_elements_text(CAST(@without AS jsonb)) AS y (value))
) AS u
GROUP BY u.name ORDER BY MIN(u.next_at), u.name LIMIT @n;

-- name: ListNewSchedules :many
-- ListNewSchedules lists up to n schedules whose next tick no worker has found yet: plain SQL added them. without is a JSON list of
-- schedules to leave out.
SELECT s.name FROM sqluice_schedules AS s
WHERE s.paused_at IS NULL AND s.origin = 'client' AND s.next_at = 0
  AND s.name NOT IN (SELECT w.value FROM jsonb_array_elements_text(CAST(CAST(@without AS TEXT) AS jsonb)) AS w (value))
LIMIT @n;

-- name: TakeSchedules :many
-- TakeSchedules reads schedules to fire them, by a JSON list of their names. On PostgreSQL it leaves out those that another transaction has
-- locked.
SELECT s.* FROM sqluice_schedules AS s WHERE s.name IN (SELECT n.value FROM jsonb_array_elements_text(CAST(CAST(@names AS TEXT) AS jsonb)) AS n (value)) ORDER BY s.name
FOR NO KEY UPDATE SKIP LOCKED;
