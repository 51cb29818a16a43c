-- name: CountJobs :many
-- CountJobs counts the jobs by queue, kind and status, in several rows each: those that are alive in their indexes, those
-- that ended by what is kept of them. since is the run_after of the first of those that wait. Of the scheduled jobs, the rows
-- with the status 'due' count those again that are due and not promoted yet.
SELECT p.queue, p.kind, 'pending' AS status, COUNT(*) AS jobs,
       CAST(MIN(p.run_after) AS BIGINT) AS since
FROM sqluice_jobs AS p WHERE p.status = 'pending' GROUP BY p.queue, p.kind
UNION ALL
SELECT w.queue, w.kind, 'waiting' AS status, COUNT(*) AS jobs,
       CAST(MIN(w.run_after) AS BIGINT) AS since
FROM sqluice_jobs AS w WHERE w.status = 'waiting' GROUP BY w.queue, w.kind
UNION ALL
SELECT s.queue, s.kind, 'scheduled' AS status, COUNT(*) AS jobs,
       CAST(MIN(s.run_after) AS BIGINT) AS since
FROM sqluice_jobs AS s WHERE s.status = 'scheduled' GROUP BY s.queue, s.kind
UNION ALL
SELECT o.queue, o.kind, 'due' AS status, COUNT(*) AS jobs,
       CAST(MIN(o.run_after) AS BIGINT) AS since
FROM sqluice_jobs AS o WHERE o.status = 'scheduled' AND o.run_after <= @now GROUP BY o.queue, o.kind
UNION ALL
SELECT r.queue, r.kind, 'running' AS status, COUNT(*) AS jobs,
       CAST(0 AS BIGINT) AS since
FROM sqluice_jobs AS r WHERE r.status = 'running' AND r.finished_at IS NULL GROUP BY r.queue, r.kind
UNION ALL
SELECT c.queue, c.kind, c.status, c.jobs, 0 AS since FROM sqluice_job_counts AS c WHERE c.jobs <> 0
UNION ALL
SELECT d.queue, d.kind, d.event AS status, CAST(SUM(d.jobs) AS BIGINT) AS jobs, 0 AS since
FROM sqluice_job_changes AS d WHERE d.jobs <> 0 GROUP BY d.queue, d.kind, d.event;

-- name: ListHistoryNames :many
-- ListHistoryNames lists the pairs of a queue and a kind in one step of the history; an empty name stands for all.
SELECT DISTINCT h.queue, h.kind FROM sqluice_job_history AS h
WHERE h.step = @step AND h.start_at = @start_at;

-- name: GetOldestJobHistory :one
-- GetOldestJobHistory returns the start of the oldest step of one length since a time; 0 when there is none.
SELECT CAST(COALESCE(MIN(h.start_at), 0) AS BIGINT) AS start_at FROM sqluice_job_history AS h
WHERE h.step = @step AND h.start_at >= @since;

-- name: DeleteJobHistory :execrows
-- DeleteJobHistory removes the steps of one length that began since one time and before another.
DELETE FROM sqluice_job_history
WHERE step = @step AND start_at >= @since AND start_at < @before;

-- name: DeleteEmptyJobCounts :execrows
-- DeleteEmptyJobCounts removes the counts of kinds that have no job left.
DELETE FROM sqluice_job_counts WHERE jobs = 0;

-- name: RecountJobs :execrows
-- RecountJobs counts the jobs that ended, by reading them all, and adds what the counts are short of, or over. It is one
-- statement, and so of one moment.
INSERT INTO sqluice_job_changes (at, queue, kind, event, times, jobs)
SELECT @now, w.queue, w.kind, w.status, 0, w.jobs
FROM (
    SELECT u.queue, u.kind, u.status, CAST(SUM(u.jobs) AS BIGINT) AS jobs
    FROM (
        SELECT j.queue, j.kind, j.status, COUNT(*) AS jobs FROM sqluice_jobs AS j
        WHERE j.status IN ('done', 'failed', 'cancelled') GROUP BY j.queue, j.kind, j.status
        UNION ALL
        SELECT c.queue, c.kind, c.status, -c.jobs AS jobs FROM sqluice_job_counts AS c
        UNION ALL
        SELECT d.queue, d.kind, d.event AS status, -d.jobs AS jobs FROM sqluice_job_changes AS d
    ) AS u
    GROUP BY u.queue, u.kind, u.status
) AS w
WHERE w.jobs <> 0;

-- name: GetNextJobChange :one
-- GetNextJobChange returns the id of the first note after an id; 0 when there is none.
SELECT CAST(COALESCE(MIN(c.id), 0) AS BIGINT) AS id FROM sqluice_job_changes AS c WHERE c.id > @after;
