-- name: PauseQueue :execrows
-- PauseQueue stops claims from a queue; what runs goes on. Zero rows mean that it was paused already.
INSERT INTO sqluice_queues (name, paused_at, updated_at)
VALUES (CAST(@name AS TEXT), CAST(@now AS BIGINT), CAST(@now AS BIGINT))
ON CONFLICT (name) DO UPDATE SET paused_at = excluded.paused_at, updated_at = excluded.updated_at
WHERE sqluice_queues.paused_at IS NULL;

-- name: ResumeQueue :execrows
-- ResumeQueue allows claims from a queue again. Zero rows mean that it was not paused.
UPDATE sqluice_queues SET paused_at = NULL, updated_at = CAST(@now AS BIGINT)
WHERE name = CAST(@name AS TEXT) AND paused_at IS NOT NULL;

-- name: ListQueueRows :many
-- ListQueueRows lists the queues that were ever paused.
SELECT q.* FROM sqluice_queues AS q ORDER BY q.name;
