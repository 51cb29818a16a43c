-- name: NoteRefusal :exec
-- NoteRefusal notes that the database refuses an action with a job, and sets the job aside for it: until again_at the first time,
-- then twice as long each time, at most for ten minutes, a minute for a conflict, or a day for pruning. After a try on demand it is
-- never less than the first time.
INSERT INTO sqluice_refusals (job_id, action, times, message, first_at, last_at, again_at)
SELECT @job_id, @action, 1, @message, @now, @now,
       @again_at
WHERE true
ON CONFLICT (job_id, action) DO UPDATE SET message = excluded.message, last_at = excluded.last_at,
    times = sqluice_refusals.times + 1,
    again_at = CASE
        WHEN 2 * (sqluice_refusals.again_at - sqluice_refusals.last_at) < excluded.again_at - excluded.last_at THEN excluded.again_at
        WHEN 2 * (sqluice_refusals.again_at - sqluice_refusals.last_at) < CASE excluded.action WHEN 'prune' THEN 86400000000 WHEN 'conflict' THEN 60000000 ELSE 600000000 END
        THEN excluded.last_at + 2 * (sqluice_refusals.again_at - sqluice_refusals.last_at)
        ELSE excluded.last_at + CASE excluded.action WHEN 'prune' THEN 86400000000 WHEN 'conflict' THEN 60000000 ELSE 600000000 END END;

-- name: ListRefusals :many
-- ListRefusals lists what the database refuses to do with a job.
SELECT r.* FROM sqluice_refusals AS r WHERE r.job_id = @job_id ORDER BY r.last_at DESC, r.action;

-- name: CountRefusals :many
-- CountRefusals counts the jobs that are set aside, by action, and says when the first of them is tried again.
SELECT r.action, COUNT(*) AS jobs, CAST(MIN(r.again_at) AS BIGINT) AS again_at
FROM sqluice_refusals AS r GROUP BY r.action ORDER BY r.action;

-- name: RetryRefusals :execrows
-- RetryRefusals makes the jobs that are set aside for an action be tried now.
UPDATE sqluice_refusals SET again_at = @now
WHERE action = @action AND again_at > @now;

-- name: RetryConflicts :execrows
-- RetryConflicts makes up to n jobs whose promotion or claim was prevented by another job's key be tried now, the longest not tried first.
UPDATE sqluice_refusals SET again_at = @now
WHERE action = 'conflict' AND job_id IN (
    SELECT c.job_id FROM sqluice_refusals AS c
    WHERE c.action = 'conflict' AND c.again_at > @now ORDER BY c.last_at, c.job_id LIMIT CAST(@n AS BIGINT));

-- name: DeleteOldRefusals :execrows
-- DeleteOldRefusals removes what jobs were set aside for that are gone, or have another status by now.
DELETE FROM sqluice_refusals WHERE NOT EXISTS (
    SELECT 1 FROM sqluice_jobs AS j WHERE j.id = sqluice_refusals.job_id AND COALESCE(j.status, '') IN (
        CASE sqluice_refusals.action WHEN 'promote' THEN 'scheduled' WHEN 'expire' THEN 'scheduled' WHEN 'claim' THEN 'pending' WHEN 'conflict' THEN 'scheduled' WHEN 'prune' THEN 'done' ELSE 'running' END,
        CASE sqluice_refusals.action WHEN 'prune' THEN 'failed' WHEN 'expire' THEN 'pending' WHEN 'conflict' THEN 'pending' WHEN 'claim' THEN 'waiting' ELSE '' END,
        CASE sqluice_refusals.action WHEN 'prune' THEN 'cancelled' WHEN 'expire' THEN 'waiting' WHEN 'conflict' THEN 'waiting' ELSE '' END));

-- name: ListDueJobIDs :many
-- ListDueJobIDs lists up to n scheduled jobs whose time has come and that are not set aside, the earliest first.
SELECT d.id FROM sqluice_jobs AS d
WHERE d.status = 'scheduled' AND d.limit_key IS NULL AND d.run_after <= @now
  AND NOT EXISTS (SELECT 1 FROM sqluice_refusals AS r WHERE r.job_id = d.id AND r.action IN ('promote', 'conflict') AND r.again_at > @now LIMIT 1 OFFSET 0)
ORDER BY d.run_after, d.id LIMIT CAST(@n AS BIGINT);

-- name: ListDueLimitedJobIDs :many
-- ListDueLimitedJobIDs is ListDueJobIDs for the jobs with a limit key.
SELECT d.id FROM sqluice_jobs AS d
WHERE d.limit_key IS NOT NULL AND d.status = 'scheduled' AND d.run_after <= @now
  AND NOT EXISTS (SELECT 1 FROM sqluice_refusals AS r WHERE r.job_id = d.id AND r.action IN ('promote', 'conflict') AND r.again_at > @now LIMIT 1 OFFSET 0)
ORDER BY d.run_after, d.id LIMIT CAST(@n AS BIGINT);

-- name: ListStuckJobIDs :many
-- ListStuckJobIDs lists the running jobs that a rescue would act on and that are not set aside.
SELECT j.id FROM sqluice_jobs AS j LEFT JOIN sqluice_workers AS w ON w.id = j.worker_id
WHERE j.status = 'running' AND j.finished_at IS NULL AND (COALESCE(j.lease_until, 0) < CAST(@lease_before AS BIGINT) OR w.id IS NULL OR w.ended_at IS NOT NULL)
  AND NOT EXISTS (SELECT 1 FROM sqluice_refusals AS r WHERE r.job_id = j.id AND r.action = 'rescue' AND r.again_at > @now LIMIT 1 OFFSET 0);

-- name: ListExpiredJobIDs :many
-- ListExpiredJobIDs lists up to n jobs that failed or were cancelled before a time and are not set aside, the oldest first.
SELECT f.id FROM sqluice_jobs AS f
WHERE (f.status = 'failed' OR f.status = 'cancelled') AND f.status = CAST(@status AS TEXT)
  AND f.finished_at < CAST(@before AS BIGINT)
  AND NOT EXISTS (SELECT 1 FROM sqluice_refusals AS r WHERE r.job_id = f.id AND r.action = 'prune' AND r.again_at > @now LIMIT 1 OFFSET 0)
ORDER BY f.finished_at LIMIT CAST(@n AS BIGINT);

-- name: DeleteExpiredJob :execrows
-- DeleteExpiredJob removes a job that failed or was cancelled before a time.
DELETE FROM sqluice_jobs WHERE id = @id AND COALESCE(status, '') = @status
  AND finished_at < CAST(@before AS BIGINT);

-- name: ListEndedWorkerIDs :many
-- ListEndedWorkerIDs lists the workers that ended before a time.
SELECT w.id FROM sqluice_workers AS w WHERE w.ended_at IS NOT NULL AND w.ended_at < CAST(@before AS BIGINT) ORDER BY w.ended_at;

-- name: DeleteEndedWorker :execrows
-- DeleteEndedWorker drops the row of a worker that has ended.
DELETE FROM sqluice_workers WHERE id = @id AND ended_at IS NOT NULL;
