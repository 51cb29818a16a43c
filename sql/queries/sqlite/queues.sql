-- name: ResumeDueQueues :execrows
-- ResumeDueQueues allows claims from the queues again whose pause is over: from all of them, or from the one with a name. It does not
-- wait for rows that are locked (on SQLite none are).
UPDATE sqluice_queues SET updated_at = @now, paused_at = NULL, paused_until = NULL, paused_by = NULL
WHERE paused_at IS NOT NULL AND paused_until <= @now
  AND (name = sqlc.narg('name') OR sqlc.narg('name') IS NULL);

-- name: ResumeDueKinds :execrows
-- ResumeDueKinds allows claims of the kinds again whose pause is over: of all of them, or of a kind in a queue. It does not wait for rows
-- that are locked (on SQLite none are).
DELETE FROM sqluice_kind_pauses WHERE paused_until <= CAST(@now AS BIGINT)
  AND (CAST(sqlc.narg('queue') AS TEXT) IS NULL OR queue = sqlc.narg('queue') AND kind = sqlc.narg('kind'));
