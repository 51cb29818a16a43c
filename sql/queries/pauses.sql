-- name: Pause :execrows
-- Pause stops claims from a queue, or of one kind's jobs in it, until a time or until it is resumed; what runs goes on. Of two pauses the
-- later end holds: zero rows mean that there is a pause which ends as late.
INSERT INTO sqluice_pauses (queue, kind, paused_at, paused_until, paused_by, reason, updated_at)
VALUES (@queue, @kind, @now, sqlc.narg('paused_until'), sqlc.narg('paused_by'), sqlc.narg('reason'), @now)
ON CONFLICT (queue, kind) DO UPDATE SET paused_until = excluded.paused_until, paused_by = excluded.paused_by, reason = excluded.reason,
    updated_at = excluded.updated_at
WHERE sqluice_pauses.paused_until < COALESCE(excluded.paused_until, 9223372036854775807);

-- name: Resume :execrows
-- Resume allows claims again that a pause stops. Zero rows mean that there is none.
DELETE FROM sqluice_pauses WHERE queue = @queue AND kind = @kind;

-- name: ListPauses :many
-- ListPauses lists what is paused, by queue: the queue itself, which has the kind '', before its kinds.
SELECT p.* FROM sqluice_pauses AS p ORDER BY p.queue, p.kind;

-- name: GetPause :many
-- GetPause reads the pause of a queue, which has the kind '', or of a kind in it, if there is one.
SELECT p.* FROM sqluice_pauses AS p WHERE p.queue = @queue AND p.kind = @kind;
