-- name: EnqueueJob :one
-- EnqueueJob adds one job and returns its id. With successor_at it is the successor of the live job with its unique key.
-- No row means that the unique key is held by a live job or its successor, the request id is taken, or the queue is closed by a move.
INSERT INTO sqluice_jobs (kind, queue, payload, status, priority, run_after, start_by, max_attempts, timeout,
                  unique_key, request_id, user_id, tags, metadata, successor_at, created_at, updated_at)
SELECT CAST(@kind AS TEXT), CAST(@queue AS TEXT), CAST(@payload AS TEXT), CAST(@status AS TEXT),
       CAST(@priority AS BIGINT), CAST(@run_after AS BIGINT), CAST(sqlc.narg('start_by') AS BIGINT), CAST(@max_attempts AS BIGINT),
       CAST(@timeout AS BIGINT), CAST(sqlc.narg('unique_key') AS TEXT), CAST(sqlc.narg('request_id') AS TEXT),
       CAST(sqlc.narg('user_id') AS TEXT), CAST(sqlc.narg('tags') AS TEXT),
       CAST(sqlc.narg('metadata') AS TEXT), CAST(sqlc.narg('successor_at') AS BIGINT),
       CAST(@now AS BIGINT), CAST(@now AS BIGINT)
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
