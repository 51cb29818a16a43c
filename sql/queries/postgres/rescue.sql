-- name: RecordHeldJobs :exec
-- RecordHeldJobs notes the end of all attempts of a worker that has said that it stops, but of those whose cancellation was requested.
INSERT INTO sqluice_job_errors (job_id, attempt, worker_id, started_at, ended_at, cause, message)
SELECT l.id, l.attempt, l.worker_id, l.started_at, @now, 'released', '' FROM (
    SELECT j.id, j.attempt, j.worker_id, j.started_at FROM sqluice_jobs AS j
    WHERE j.status = 'running' AND j.finished_at IS NULL AND j.worker_id = CAST(@worker_id AS BIGINT) AND j.cancel_requested_at IS NULL
    ORDER BY j.id FOR NO KEY UPDATE) AS l;

-- name: RecordStuckJobs :execrows
-- RecordStuckJobs notes the end of every stuck attempt: a crash when the process is gone, lost when only its
-- lease is over, or when its worker stopped and could not record it. It opens a rescue: the statements after it act on the rows it left, in the same transaction.
-- A row that is locked (on SQLite none is) is being finished, or rescued by another worker: it passes over that.
-- ids, when not empty, is a JSON list of the only jobs that it looks at.
INSERT INTO sqluice_job_errors (job_id, attempt, worker_id, started_at, ended_at, cause, message)
SELECT j.id, j.attempt, j.worker_id, j.started_at, @now,
       CASE WHEN s.ended_at IS NULL AND s.worker IS NOT NULL OR s.end_reason <> 'crash' THEN 'lost' ELSE 'crash' END,
       CASE WHEN s.end_reason = 'stopped' THEN 'the worker stopped without recording the end: worker '
            WHEN s.ended_at IS NULL AND s.worker IS NOT NULL OR s.end_reason = 'lost'
            THEN 'the lease ran out: worker ' ELSE 'the process ended: worker ' END || COALESCE(s.name, 'unknown')
            || CASE WHEN j.prefetched = j.attempt THEN ', and the handler may not have started' ELSE '' END
FROM (
    /* Found first and then locked by its fence: a row that another rescuer gave back meanwhile, and that a live worker
       claimed, would else be looked at anew beside the workers as they were before. */
    SELECT r.id, r.attempt, w.id AS worker, w.ended_at, w.end_reason, w.name
    FROM sqluice_jobs AS r LEFT JOIN sqluice_workers AS w ON w.id = r.worker_id
    WHERE r.status = 'running' AND r.finished_at IS NULL
      AND (COALESCE(r.lease_until, 0) < CAST(@lease_before AS BIGINT) OR w.id IS NULL OR w.ended_at IS NOT NULL)
      AND (CAST(@ids AS TEXT) = '' OR r.id = ANY (sqluice_ids(NULLIF(@ids, ''))))
    OFFSET 0
) AS s
JOIN sqluice_jobs AS j ON j.id = s.id AND j.attempt = s.attempt AND j.status = 'running'
WHERE COALESCE(j.lease_until, 0) < @lease_before OR s.worker IS NULL OR s.ended_at IS NOT NULL
FOR NO KEY UPDATE OF j SKIP LOCKED;
