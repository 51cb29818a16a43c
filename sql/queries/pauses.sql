-- name: Pause :execrows
-- Pause stops claims from a queue, or of one kind's jobs in it, until a time or until it is resumed; what runs goes on. Zero rows mean that
-- there is a pause.
INSERT INTO sqluice_pauses (queue, kind, paused_at, paused_until, paused_by, reason, updated_at)
VALUES (@queue, @kind, @now, sqlc.narg('paused_until'), sqlc.narg('paused_by'), sqlc.narg('reason'), @now)
ON CONFLICT (queue, kind) DO NOTHING;

-- name: ReplacePause :execrows
-- ReplacePause puts a pause in the place of the one that there is.
UPDATE sqluice_pauses SET updated_at = @now, paused_at = @paused_at, paused_until = sqlc.narg('paused_until'), paused_by = sqlc.narg('paused_by'),
    reason = sqlc.narg('reason')
WHERE queue = @queue AND kind = @kind;

-- name: Resume :execrows
-- Resume allows claims again that a pause stops. Zero rows mean that there is none.
DELETE FROM sqluice_pauses WHERE queue = @queue AND kind = @kind;

-- name: ListPauses :many
-- ListPauses lists what is paused, by queue: the queue itself, which has the kind '', before its kinds.
SELECT p.* FROM sqluice_pauses AS p ORDER BY p.queue, p.kind;
