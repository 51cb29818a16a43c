-- name: ListLiveJobsByUniqueKey :many
-- ListLiveJobsByUniqueKey finds the job that holds a unique key, and then its successor. successor_at is -1 for the first.
SELECT j.id, j.status, j.attempt, j.created_at, j.run_after, CAST(-1 AS BIGINT) AS successor_at FROM sqluice_jobs AS j
WHERE j.kind = @kind AND j.unique_key = CAST(@unique_key AS TEXT)
  AND j.unique_key IS NOT NULL AND j.successor_at IS NULL AND j.status IN ('scheduled', 'pending', 'running')
UNION ALL
SELECT s.id, s.status, s.attempt, s.created_at, s.successor_at, s.successor_at FROM sqluice_jobs AS s
WHERE s.kind = @kind AND s.unique_key = @unique_key AND s.successor_at IS NOT NULL
ORDER BY successor_at;

-- name: TakeUniqueKey :execrows
-- TakeUniqueKey takes a unique key until a time. Zero rows mean that it is taken.
INSERT INTO sqluice_unique_keys (kind, unique_key, taken_at, until)
VALUES (@kind, @unique_key, @now, @until)
ON CONFLICT (kind, unique_key) DO UPDATE SET taken_at = excluded.taken_at, until = excluded.until, job_id = NULL
WHERE sqluice_unique_keys.until <= excluded.taken_at;

-- name: GetUniqueKey :one
-- GetUniqueKey returns until when a unique key is taken, and the job that has taken it.
SELECT k.until, COALESCE(k.job_id, 0) AS job_id FROM sqluice_unique_keys AS k
WHERE k.kind = @kind AND k.unique_key = @unique_key;

-- name: SetUniqueKeyJob :exec
-- SetUniqueKeyJob notes the job that has taken a unique key.
UPDATE sqluice_unique_keys SET job_id = CAST(@job_id AS BIGINT)
WHERE kind = @kind AND unique_key = @unique_key;

-- name: GetJobIDByRequestID :one
-- GetJobIDByRequestID finds the job that an earlier enqueue with the same request id made.
SELECT j.id FROM sqluice_jobs AS j
WHERE j.kind = @kind AND j.request_id = CAST(@request_id AS TEXT) AND j.request_id IS NOT NULL;
