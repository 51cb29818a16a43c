-- name: ResumeDueQueues :execrows
-- ResumeDueQueues allows claims from the queues again whose pause is over. It does not wait for rows that are locked (on SQLite none are).
UPDATE sqluice_queues SET paused_at = NULL, paused_until = NULL, paused_by = NULL, updated_at = CAST(@now AS BIGINT)
WHERE name IN (
    SELECT q.name FROM sqluice_queues AS q WHERE q.paused_at IS NOT NULL AND q.paused_until <= CAST(@now AS BIGINT)
    FOR UPDATE SKIP LOCKED
);

-- name: ResumeDueKinds :execrows
-- ResumeDueKinds allows claims of the kinds again whose pause is over. It does not wait for rows that are locked (on SQLite none are).
DELETE FROM sqluice_kind_pauses WHERE (queue, kind) IN (
    SELECT k.queue, k.kind FROM sqluice_kind_pauses AS k WHERE k.paused_until <= CAST(@now AS BIGINT)
    FOR UPDATE SKIP LOCKED
);
