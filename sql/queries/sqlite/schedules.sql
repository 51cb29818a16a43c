-- name: GetScheduleWork :one
-- GetScheduleWork returns the next tick of the schedules that a worker serves, -1 for none, how many schedules owe a job, and when the
-- next pause of a queue ends, 0 for none.
-- declared is a JSON list of names.
SELECT CAST(COALESCE((
           SELECT s.next_at FROM sqluice_schedules AS s
           WHERE s.paused_at IS NULL AND s.fault IS NULL
             AND (s.origin = 'client' OR s.name IN (SELECT d.value FROM json_each(CAST(@declared AS TEXT)) AS d))
           ORDER BY s.next_at LIMIT 1
       ), -1) AS BIGINT) AS next_at,
       CAST((SELECT COUNT(*) FROM sqluice_schedules AS o WHERE o.owed_at IS NOT NULL) AS BIGINT) AS owed,
       CAST(COALESCE((SELECT MIN(q.paused_until) FROM sqluice_queues AS q WHERE q.paused_at IS NOT NULL), 0) AS BIGINT) AS pause_end;

-- name: ListDueSchedules :many
-- ListDueSchedules lists the names of schedules that are due and that a worker serves, and of those that owe a job whose predecessor
-- has ended. declared is a JSON list of names.
SELECT s.name FROM sqluice_schedules AS s
WHERE s.paused_at IS NULL AND s.fault IS NULL AND s.next_at <= CAST(@now AS BIGINT)
  AND (s.origin = 'client' OR s.name IN (SELECT d.value FROM json_each(CAST(@declared AS TEXT)) AS d))
UNION
SELECT o.name FROM sqluice_schedules AS o LEFT JOIN sqluice_jobs AS j ON j.id = o.last_job_id
WHERE o.owed_at IS NOT NULL AND o.paused_at IS NULL
  AND (j.status IS NULL OR j.status NOT IN ('scheduled', 'pending', 'running'))
  AND (o.origin = 'client' OR o.name IN (SELECT e.value FROM json_each(CAST(@declared AS TEXT)) AS e))
ORDER BY 1 LIMIT CAST(@n AS BIGINT);

-- name: ListSchedulesNamed :many
-- ListSchedulesNamed lists schedules by a JSON list of their names.
SELECT s.* FROM sqluice_schedules AS s WHERE s.name IN (SELECT n.value FROM json_each(CAST(@names AS TEXT)) AS n) ORDER BY s.name;
