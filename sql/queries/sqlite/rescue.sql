-- name: RecordHeldJobs :exec
-- RecordHeldJobs notes the end of all attempts of a worker that has said that it stops, but of those whose cancellation was requested.
INSERT INTO sqluice_job_errors (job_id, attempt, worker_id, started_at, ended_at, cause, message)
SELECT j.id, j.attempt, j.worker_id, j.started_at, @now, 'released', '' FROM sqluice_jobs AS j
WHERE j.status = 'running' AND j.finished_at IS NULL AND j.worker_id = CAST(@worker_id AS BIGINT) AND j.cancel_requested_at IS NULL;

-- name: RecordStuckJobs :execrows
-- RecordStuckJobs notes the end of every stuck attempt: a crash when the process is gone, lost when only its
-- lease is over, or when its worker stopped and could not record it. It opens a rescue: the statements after it act on the rows it left, in the same transaction.
-- A row that is locked (on SQLite none is) is being finished, or rescued by another worker: it passes over that.
-- ids, when not empty, is a JSON list of the only jobs that it looks at.
INSERT INTO sqluice_job_errors (job_id, attempt, worker_id, started_at, ended_at, cause, message)
SELECT j.id, j.attempt, j.worker_id, j.started_at, @now,
       CASE WHEN w.ended_at IS NULL AND w.id IS NOT NULL OR w.end_reason <> 'crash' THEN 'lost' ELSE 'crash' END,
       CASE WHEN w.end_reason = 'stopped' THEN 'the worker stopped without recording the end: worker '
            WHEN w.ended_at IS NULL AND w.id IS NOT NULL OR w.end_reason = 'lost'
            THEN 'the lease ran out: worker ' ELSE 'the process ended: worker ' END || COALESCE(w.name, 'unknown')
            || CASE WHEN j.prefetched = j.attempt THEN ', and the handler may not have started' ELSE '' END
FROM sqluice_jobs AS j LEFT JOIN sqluice_workers AS w ON w.id = j.worker_id
WHERE j.status = 'running' AND j.finished_at IS NULL
  AND (COALESCE(j.lease_until, 0) < CAST(@lease_before AS BIGINT) OR w.id IS NULL OR w.ended_at IS NOT NULL)
  AND (CAST(@ids AS TEXT) = '' OR j.id IN (SELECT e.value FROM json_each(NULLIF(@ids, '')) AS e));
