-- name: EnqueueJob :one
-- EnqueueJob adds one job and returns its id. With successor_at it is the successor of the live job with its unique key.
-- No row means that the unique key is held by a live job or its successor, the request id is taken, or the queue is closed by a move.
INSERT INTO sqluice_jobs (kind, queue, payload, status, priority, run_after, start_by, max_attempts, timeout,
                  unique_key, successor_at, request_id, user_id, tags, metadata, limit_key, created_at, updated_at)
SELECT CAST(@kind AS TEXT), @queue, @payload, @status,
       @priority, @run_after, sqlc.narg('start_by'), @max_attempts,
       @timeout, CAST(sqlc.narg('unique_key') AS TEXT), sqlc.narg('successor_at'),
       sqlc.narg('request_id'), sqlc.narg('user_id'), sqlc.narg('tags'),
       sqlc.narg('metadata'), sqlc.narg('limit_key'), @now, @now
WHERE NOT EXISTS (SELECT 1 FROM sqluice_moves AS m)
  AND NOT EXISTS (
    SELECT 1 FROM sqluice_jobs AS s WHERE s.kind = @kind AND s.unique_key = sqlc.narg('unique_key')
      AND s.successor_at IS NOT NULL)
ON CONFLICT DO NOTHING
RETURNING id;

-- name: EnqueueKeylessJob :one
-- EnqueueKeylessJob is EnqueueJob for a job with neither a unique key nor a request id, which no other is in the way of, nor a limit key. All parameters
-- have a CAST to a plain type: PostgreSQL prepares the checks of a domain anew for each parameter of that type, at each run.
-- No row means that the queue is closed by a move.
INSERT INTO sqluice_jobs (kind, queue, payload, status, priority, run_after, start_by, max_attempts, timeout,
                  user_id, tags, metadata, created_at, updated_at)
SELECT CAST(@kind AS TEXT), CAST(@queue AS TEXT), CAST(@payload AS TEXT), CAST(@status AS TEXT),
       CAST(@priority AS BIGINT), CAST(@run_after AS BIGINT), CAST(sqlc.narg('start_by') AS BIGINT), CAST(@max_attempts AS BIGINT),
       CAST(@timeout AS BIGINT), CAST(sqlc.narg('user_id') AS TEXT), CAST(sqlc.narg('tags') AS TEXT),
       CAST(sqlc.narg('metadata') AS TEXT), CAST(@now AS BIGINT), CAST(@now AS BIGINT)
WHERE NOT EXISTS (SELECT 1 FROM sqluice_moves AS m)
RETURNING id;

-- name: ReplaceWaitingJob :execrows
-- ReplaceWaitingJob gives a job that does not run the payload and the options of a newer enqueue with its unique key, and the time due_at
-- unless that is NULL. The new payload has all attempts, whatever those with the old one have used up. It is fenced by its attempt and
-- by its place: the successor_at that ListLiveJobsByUniqueKey returned. An enqueue that waited for others knows a time, now, before theirs.
-- Its times are moved to after the last of these, by at most room, which is 0 without a due_at; start_by only when start_moves is 1. An
-- updated_at after set_back is of a clock that was set back since. It puts no plain payload in the place of an encrypted one.
UPDATE sqluice_jobs SET
    status = CASE WHEN CAST(sqlc.narg('due_at') AS BIGINT) IS NULL AND priority = @priority
        AND queue = @queue AND limit_key IS NULL AND CAST(sqlc.narg('limit_key') AS TEXT) IS NULL THEN status ELSE 'scheduled' END,
    run_after = CASE WHEN successor_at IS NOT NULL THEN run_after ELSE COALESCE(sqlc.narg('due_at'), run_after) + CASE
        WHEN updated_at <= @now OR updated_at > @set_back THEN 0
        WHEN updated_at - @now < @room THEN updated_at - @now ELSE @room END END,
    successor_at = CASE WHEN successor_at IS NULL THEN NULL ELSE COALESCE(sqlc.narg('due_at'), successor_at) + CASE
        WHEN updated_at <= @now OR updated_at > @set_back THEN 0
        WHEN updated_at - @now < @room THEN updated_at - @now ELSE @room END END,
    start_by = sqlc.narg('start_by') + CAST(@start_moves AS BIGINT) * CASE
        WHEN updated_at <= @now OR updated_at > @set_back THEN 0
        WHEN updated_at - @now < @room THEN updated_at - @now ELSE @room END,
    updated_at = CASE WHEN updated_at BETWEEN @now AND @set_back THEN updated_at ELSE @now END,
    queue = @queue, priority = @priority, payload = @payload, limit_key = sqlc.narg('limit_key'),
    uncounted = attempt, crashes = 0, progress = NULL,
    max_attempts = @max_attempts, timeout = @timeout,
    user_id = sqlc.narg('user_id'), tags = sqlc.narg('tags'),
    metadata = sqlc.narg('metadata')
WHERE id = @id AND status IN ('scheduled', 'waiting', 'pending') AND attempt = @attempt
  AND COALESCE(successor_at, -1) = CAST(@place AS BIGINT)
  AND (SUBSTR(payload, 1, 19) <> '"sqluice:encrypted:' OR SUBSTR(@payload, 1, 19) = '"sqluice:encrypted:');

-- name: ListLiveJobsByUniqueKey :many
-- ListLiveJobsByUniqueKey finds the job that holds a unique key, and then its successor. successor_at is -1 for the first.
SELECT j.id, j.status, j.attempt, j.created_at, j.run_after, CAST(-1 AS BIGINT) AS successor_at FROM sqluice_jobs AS j
WHERE j.kind = @kind AND j.unique_key = CAST(@unique_key AS TEXT)
  AND j.unique_key IS NOT NULL AND j.successor_at IS NULL AND j.status IN ('scheduled', 'waiting', 'pending', 'running')
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
