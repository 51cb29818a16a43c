-- name: EnqueueJob :one
-- EnqueueJob adds one job and returns its id. With successor_at it is the successor of the live job with its unique key.
-- No row means that the unique key is held by a live job or its successor, the request id is taken, or the queue is closed by a move.
INSERT INTO sqluice_jobs (kind, queue, payload, status, priority, run_after, start_by, max_attempts, timeout,
                  unique_key, successor_at, request_id, user_id, tags, metadata, created_at, updated_at)
SELECT CAST(@kind AS TEXT), @queue, @payload, @status,
       @priority, @run_after, sqlc.narg('start_by'), @max_attempts,
       @timeout, CAST(sqlc.narg('unique_key') AS TEXT), sqlc.narg('successor_at'),
       sqlc.narg('request_id'), sqlc.narg('user_id'), sqlc.narg('tags'),
       sqlc.narg('metadata'), @now, @now
WHERE NOT EXISTS (SELECT 1 FROM sqluice_moves AS m)
  AND NOT EXISTS (
    SELECT 1 FROM sqluice_jobs AS s WHERE s.kind = @kind AND s.unique_key = sqlc.narg('unique_key')
      AND s.successor_at IS NOT NULL)
ON CONFLICT DO NOTHING
RETURNING id;

-- name: EnqueueKeylessJob :one
-- EnqueueKeylessJob is EnqueueJob for a job with neither a unique key nor a request id, which no other is in the way of.
-- No row means that the queue is closed by a move.
INSERT INTO sqluice_jobs (kind, queue, payload, status, priority, run_after, start_by, max_attempts, timeout,
                  user_id, tags, metadata, created_at, updated_at)
SELECT @kind, @queue, @payload, @status,
       @priority, @run_after, sqlc.narg('start_by'), @max_attempts,
       @timeout, sqlc.narg('user_id'), sqlc.narg('tags'),
       sqlc.narg('metadata'), @now, @now
WHERE NOT EXISTS (SELECT 1 FROM sqluice_moves AS m)
RETURNING id;

-- name: ReplaceWaitingJob :execrows
-- ReplaceWaitingJob gives a job that does not run the payload and the options of a newer enqueue with its unique key, and the time due_at
-- unless that is NULL. It is fenced by its attempt and by its place: the successor_at that ListLiveJobsByUniqueKey returned. An enqueue
-- that waited for others knows a time, now, before theirs. Its times are moved to after the last of these, by at most room, which is 0
-- without a due_at; start_by only when start_moves is 1. An updated_at after set_back is of a clock that was set back since.
-- It puts no plain payload in the place of an encrypted one.
UPDATE sqluice_jobs SET
    status = CASE WHEN CAST(sqlc.narg('due_at') AS BIGINT) IS NULL AND priority = @priority
        AND queue = @queue THEN status ELSE 'scheduled' END,
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
    queue = @queue, priority = @priority, payload = @payload,
    max_attempts = @max_attempts, timeout = @timeout,
    user_id = sqlc.narg('user_id'), tags = sqlc.narg('tags'),
    metadata = sqlc.narg('metadata')
WHERE id = @id AND status IN ('scheduled', 'pending') AND attempt = @attempt
  AND COALESCE(successor_at, -1) = CAST(@place AS BIGINT)
  AND (SUBSTR(payload, 1, 19) <> '"sqluice:encrypted:' OR SUBSTR(@payload, 1, 19) = '"sqluice:encrypted:');
