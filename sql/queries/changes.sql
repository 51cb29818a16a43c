-- name: GetChangeMark :one
-- GetChangeMark returns values of which one differs after jobs, queues or workers have changed, at little cost. All may stay the
-- same when other programs change waiting rows.
SELECT CAST((SELECT COALESCE(MAX(j.id), 0) FROM sqluice_jobs AS j) AS BIGINT) AS last_job,
       (SELECT COUNT(*) FROM sqluice_jobs AS r WHERE r.status = 'running' AND r.finished_at IS NULL) AS running,
       CAST((SELECT COALESCE(MAX(u.updated_at), 0) FROM sqluice_jobs AS u WHERE u.status = 'running' AND u.finished_at IS NULL) AS BIGINT) AS running_at,
       CAST((SELECT COALESCE(MAX(n.id), 0) FROM sqluice_job_changes AS n) AS BIGINT) AS last_note,
       CAST((SELECT COALESCE(SUM(c.jobs), 0) FROM sqluice_job_counts AS c) AS BIGINT) AS ended,
       (SELECT COUNT(*) FROM sqluice_pauses AS p) AS pauses,
       CAST((SELECT COALESCE(MAX(q.updated_at), 0) FROM sqluice_pauses AS q) AS BIGINT) AS paused_at,
       CAST((SELECT COALESCE(MAX(w.id), 0) FROM sqluice_workers AS w) AS BIGINT) AS last_worker,
       (SELECT COUNT(*) FROM sqluice_workers AS l WHERE l.ended_at IS NULL) AS workers;
