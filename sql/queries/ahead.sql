-- name: CountAhead :one
-- CountAhead counts what a clock wrote that was ahead and that lasts for that reason: unique keys, pauses and schedules with a time of the
-- past that lies after late, and a time of the future.
SELECT (SELECT COUNT(*) FROM sqluice_unique_keys AS k WHERE k.until > @late AND k.taken_at > @late) AS unique_keys,
       (SELECT COUNT(*) FROM sqluice_pauses AS p WHERE p.paused_at > @late AND p.paused_until > @late) AS pauses,
       (SELECT COUNT(*) FROM sqluice_schedules AS s
        WHERE s.next_at > @late AND (s.updated_at > @late OR s.start_at > @late OR s.last_at > @late)) AS schedules;

-- name: MendUniqueKeys :execrows
-- MendUniqueKeys makes the unique keys that CountAhead counts taken from now on, for their own period.
UPDATE sqluice_unique_keys SET until = until - taken_at + CAST(@now AS BIGINT), taken_at = CAST(@now AS BIGINT)
WHERE until > @late AND taken_at > @late;

-- name: MendPauses :execrows
-- MendPauses makes the pauses that CountAhead counts begin now, and last as long as they were to.
UPDATE sqluice_pauses SET updated_at = CAST(@now AS BIGINT), paused_until = paused_until - paused_at + CAST(@now AS BIGINT),
    paused_at = CAST(@now AS BIGINT)
WHERE paused_at > @late AND paused_until > @late;

-- name: MendSchedules :many
-- MendSchedules makes the schedules that CountAhead counts go on now: the next look finds the next tick.
UPDATE sqluice_schedules SET updated_at = CAST(@now AS BIGINT), next_at = CAST(@now AS BIGINT),
    start_at = CASE WHEN start_at > @late THEN CAST(@now AS BIGINT) ELSE start_at END,
    last_at = CASE WHEN last_at > @late THEN CAST(@now AS BIGINT) ELSE last_at END,
    owed_at = CASE WHEN owed_at > @late THEN CAST(@now AS BIGINT) ELSE owed_at END,
    paused_at = CASE WHEN paused_at > @late THEN CAST(@now AS BIGINT) ELSE paused_at END,
    version = version + 1
WHERE next_at > @late AND (updated_at > @late OR start_at > @late OR last_at > @late)
RETURNING name;

-- name: DeleteTicksAfter :execrows
-- DeleteTicksAfter removes the ticks of a schedule after a time.
DELETE FROM sqluice_schedule_ticks WHERE schedule = @schedule AND tick > @after;
