-- name: PauseQueue :execrows
-- PauseQueue stops claims from a queue, until a time or until it is resumed; what runs goes on. Zero rows mean that it was paused so
-- already.
INSERT INTO sqluice_queues (name, paused_at, paused_until, paused_by, updated_at)
VALUES (@name, CAST(@now AS BIGINT), sqlc.narg('paused_until'), sqlc.narg('paused_by'),
        @now)
ON CONFLICT (name) DO UPDATE SET paused_at = COALESCE(sqluice_queues.paused_at, excluded.paused_at),
    paused_until = excluded.paused_until, paused_by = excluded.paused_by, updated_at = excluded.updated_at
WHERE sqluice_queues.paused_at IS NULL OR COALESCE(sqluice_queues.paused_until, -1) <> COALESCE(excluded.paused_until, -1);

-- name: ResumeQueue :execrows
-- ResumeQueue allows claims from a queue again. Zero rows mean that it was not paused.
UPDATE sqluice_queues SET updated_at = @now, paused_at = NULL, paused_until = NULL, paused_by = NULL
WHERE name = @name AND paused_at IS NOT NULL;

-- name: ListQueueRows :many
-- ListQueueRows lists the queues that were ever paused.
SELECT q.* FROM sqluice_queues AS q ORDER BY q.name;

-- name: PauseKind :execrows
-- PauseKind stops claims of a kind's jobs from a queue, until a time or until it is resumed; what runs goes on. Zero rows mean that
-- it was paused so already.
INSERT INTO sqluice_kind_pauses (queue, kind, paused_at, paused_until, paused_by, updated_at)
VALUES (@queue, @kind, @now, sqlc.narg('paused_until'),
        sqlc.narg('paused_by'), @now)
ON CONFLICT (queue, kind) DO UPDATE SET paused_until = excluded.paused_until, paused_by = excluded.paused_by, updated_at = excluded.updated_at
WHERE COALESCE(sqluice_kind_pauses.paused_until, -1) <> COALESCE(excluded.paused_until, -1);

-- name: ResumeKind :execrows
-- ResumeKind allows claims of a kind's jobs from a queue again. Zero rows mean that it was not paused.
DELETE FROM sqluice_kind_pauses WHERE queue = @queue AND kind = @kind;

-- name: ListKindPauses :many
-- ListKindPauses lists the kinds that are paused, by queue.
SELECT h.* FROM sqluice_kind_pauses AS h ORDER BY h.queue, h.kind;
