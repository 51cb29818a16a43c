-- name: EnqueueJobs :many
-- EnqueueJobs adds one job for each payload of a JSON list of strings, alike in all else; ids rise in their order.
-- No row means that the queue is closed by a move.
INSERT INTO sqluice_jobs (kind, queue, payload, status, priority, run_after, max_attempts, timeout,
                  user_id, tags, metadata, created_at, updated_at)
SELECT CAST(@kind AS TEXT), CAST(@queue AS TEXT), e.value, CAST(@status AS TEXT), CAST(@priority AS BIGINT),
       CAST(@run_after AS BIGINT), CAST(@max_attempts AS BIGINT), CAST(@timeout AS BIGINT),
       CAST(sqlc.narg('user_id') AS TEXT), CAST(sqlc.narg('tags') AS TEXT), CAST(sqlc.narg('metadata') AS TEXT),
       CAST(@now AS BIGINT), CAST(@now AS BIGINT)
FROM json_each(CAST(@payloads AS TEXT)) AS e
WHERE NOT EXISTS (SELECT 1 FROM sqluice_moves AS m)
RETURNING id;
