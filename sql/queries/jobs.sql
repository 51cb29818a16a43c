-- name: EnqueueJob :one
-- EnqueueJob adds one job and returns its id. With successor_at it is the successor of the live job with its unique key.
-- No row means that the unique key is held by a live job or its successor, the request id is taken, or the queue is closed by a move.
INSERT INTO sqluice_jobs (kind, queue, payload, status, priority, run_after, start_by, max_attempts, timeout,
                  unique_key, successor_at, request_id, user_id, tags, metadata, created_at, updated_at)
SELECT CAST(@kind AS TEXT), CAST(@queue AS TEXT), CAST(@payload AS TEXT), CAST(@status AS TEXT),
       CAST(@priority AS BIGINT), CAST(@run_after AS BIGINT), CAST(sqlc.narg('start_by') AS BIGINT), CAST(@max_attempts AS BIGINT),
       CAST(@timeout AS BIGINT), CAST(sqlc.narg('unique_key') AS TEXT), CAST(sqlc.narg('successor_at') AS BIGINT),
       CAST(sqlc.narg('request_id') AS TEXT), CAST(sqlc.narg('user_id') AS TEXT), CAST(sqlc.narg('tags') AS TEXT),
       CAST(sqlc.narg('metadata') AS TEXT), CAST(@now AS BIGINT), CAST(@now AS BIGINT)
WHERE NOT EXISTS (SELECT 1 FROM sqluice_moves AS m)
  AND NOT EXISTS (
    SELECT 1 FROM sqluice_jobs AS s WHERE s.kind = CAST(@kind AS TEXT) AND s.unique_key = CAST(sqlc.narg('unique_key') AS TEXT)
      AND s.successor_at IS NOT NULL)
ON CONFLICT DO NOTHING
RETURNING id;

-- name: EnqueueKeylessJob :one
-- EnqueueKeylessJob is EnqueueJob for a job with neither a unique key nor a request id, which no other is in the way of.
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
-- unless that is NULL. It is fenced by its attempt and by its place: the successor_at that ListLiveJobsByUniqueKey returned. An enqueue
-- that waited for others knows a time, now, before theirs. Its times are moved to after the last of these, by at most room, which is 0
-- without a due_at; start_by only when start_moves is 1. An updated_at after set_back is of a clock that was set back since.
-- It puts no plain payload in the place of an encrypted one.
UPDATE sqluice_jobs SET
    status = CASE WHEN CAST(sqlc.narg('due_at') AS BIGINT) IS NULL AND priority = CAST(@priority AS BIGINT)
        AND queue = CAST(@queue AS TEXT) THEN status ELSE 'scheduled' END,
    run_after = CASE WHEN successor_at IS NOT NULL THEN run_after ELSE COALESCE(CAST(sqlc.narg('due_at') AS BIGINT), run_after) + CASE
        WHEN updated_at <= CAST(@now AS BIGINT) OR updated_at > CAST(@set_back AS BIGINT) THEN 0
        WHEN updated_at - CAST(@now AS BIGINT) < CAST(@room AS BIGINT) THEN updated_at - CAST(@now AS BIGINT) ELSE CAST(@room AS BIGINT) END END,
    successor_at = CASE WHEN successor_at IS NULL THEN NULL ELSE COALESCE(CAST(sqlc.narg('due_at') AS BIGINT), successor_at) + CASE
        WHEN updated_at <= CAST(@now AS BIGINT) OR updated_at > CAST(@set_back AS BIGINT) THEN 0
        WHEN updated_at - CAST(@now AS BIGINT) < CAST(@room AS BIGINT) THEN updated_at - CAST(@now AS BIGINT) ELSE CAST(@room AS BIGINT) END END,
    start_by = CAST(sqlc.narg('start_by') AS BIGINT) + CAST(@start_moves AS BIGINT) * CASE
        WHEN updated_at <= CAST(@now AS BIGINT) OR updated_at > CAST(@set_back AS BIGINT) THEN 0
        WHEN updated_at - CAST(@now AS BIGINT) < CAST(@room AS BIGINT) THEN updated_at - CAST(@now AS BIGINT) ELSE CAST(@room AS BIGINT) END,
    updated_at = CASE WHEN updated_at BETWEEN CAST(@now AS BIGINT) AND CAST(@set_back AS BIGINT) THEN updated_at ELSE CAST(@now AS BIGINT) END,
    queue = CAST(@queue AS TEXT), priority = CAST(@priority AS BIGINT), payload = CAST(@payload AS TEXT),
    max_attempts = CAST(@max_attempts AS BIGINT), timeout = CAST(@timeout AS BIGINT),
    user_id = CAST(sqlc.narg('user_id') AS TEXT), tags = CAST(sqlc.narg('tags') AS TEXT),
    metadata = CAST(sqlc.narg('metadata') AS TEXT)
WHERE id = CAST(@id AS BIGINT) AND status IN ('scheduled', 'pending') AND attempt = CAST(@attempt AS BIGINT)
  AND COALESCE(successor_at, -1) = CAST(@place AS BIGINT)
  AND (SUBSTR(payload, 1, 19) <> '"sqluice:encrypted:' OR SUBSTR(CAST(@payload AS TEXT), 1, 19) = '"sqluice:encrypted:');
