-- name: ResumeDueQueues :execrows
-- ResumeDueQueues allows claims from the queues again whose pause is over: from all of them, or from the one with a name. It does not
-- wait for rows that are locked (on SQLite none are).
UPDATE sqluice_queues SET updated_at = @now, paused_at = NULL, paused_until = NULL, paused_by = NULL
WHERE name IN (
    SELECT q.name FROM sqluice_queues AS q WHERE q.paused_at IS NOT NULL AND q.paused_until <= @now
      AND (q.name = sqlc.narg('name') OR sqlc.narg('name') IS NULL)
    FOR UPDATE SKIP LOCKED
);

-- name: ResumeDueKinds :execrows
-- ResumeDueKinds allows claims of the kinds again whose pause is over: of all of them, or of a kind in a queue. It does not wait for rows
-- that are locked (on SQLite none are).
DELETE FROM sqluice_kind_pauses WHERE (queue, kind) IN (
    SELECT k.queue, k.kind FROM sqluice_kind_pauses AS k WHERE k.paused_until <= CAST(@now AS BIGINT)
      AND (CAST(sqlc.narg('queue') AS TEXT) IS NULL OR k.queue = sqlc.narg('queue') AND k.kind = sqlc.narg('kind'))
    FOR UPDATE SKIP LOCKED
);
