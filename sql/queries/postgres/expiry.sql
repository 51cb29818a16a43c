-- name: ExpireJobs :many
-- ExpireJobs ends those jobs of a JSON list of ids that were to start by now and were not. RecordExpiredJobs follows.
-- It does not wait for rows that are locked (on SQLite none are).
UPDATE sqluice_jobs SET updated_at = @now, status = 'cancelled', finished_at = @now,
                run_after = COALESCE(successor_at, run_after), successor_at = NULL,
                last_error = 'not started by ' || to_char(to_timestamp(start_by / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
WHERE id = ANY (ARRAY(
    SELECT j.id FROM sqluice_jobs AS j
    WHERE j.id = ANY (CAST((SELECT sqluice_ids(@ids)) AS BIGINT[]))
      AND j.start_by <= @now AND COALESCE(j.status, '') IN ('scheduled', 'waiting', 'pending')
    FOR NO KEY UPDATE OF j SKIP LOCKED
))
RETURNING id, queue, kind, unique_key, limit_key;

-- name: RecordExpiredJobs :exec
-- RecordExpiredJobs adds a row to the errors of each job of a JSON list of ids, all of which ExpireJobs has ended in the same transaction.
INSERT INTO sqluice_job_errors (job_id, attempt, ended_at, cause, message)
SELECT j.id, j.attempt, @now, 'expired', COALESCE(j.last_error, '') FROM sqluice_jobs AS j
WHERE j.id = ANY (CAST((SELECT sqluice_ids(@ids)) AS BIGINT[])) ORDER BY j.id;
