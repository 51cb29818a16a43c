-- name: ExpireJobs :many
-- ExpireJobs ends those jobs of a JSON list of ids that were to start by now and were not. RecordExpiredJobs follows.
-- It does not wait for rows that are locked (on SQLite none are).
UPDATE sqluice_jobs SET updated_at = @now, status = 'cancelled', finished_at = @now,
                run_after = COALESCE(successor_at, run_after), successor_at = NULL,
                last_error = 'not started by ' || strftime('%Y-%m-%dT%H:%M:%SZ', start_by / 1000000, 'unixepoch')
WHERE id IN (SELECT e.value FROM json_each(CAST(@ids AS TEXT)) AS e)
  AND start_by <= @now AND COALESCE(status, '') IN ('scheduled', 'waiting', 'pending')
RETURNING id, queue, kind, unique_key, limit_key;

-- name: RecordExpiredJobs :exec
-- RecordExpiredJobs adds a row to the errors of each job of a JSON list of ids, all of which ExpireJobs has ended in the same transaction.
INSERT INTO sqluice_job_errors (job_id, attempt, ended_at, cause, message)
SELECT j.id, j.attempt, @now, 'expired', COALESCE(j.last_error, '') FROM sqluice_jobs AS j
WHERE j.id IN (SELECT e.value FROM json_each(CAST(@ids AS TEXT)) AS e) ORDER BY j.id;
