-- name: PutSchedule :exec
-- PutSchedule adds a schedule, or replaces what was said of the one with the name. Its next tick stays, unless its times change.
INSERT INTO sqluice_schedules (name, kind, queue, payload, options, spec, zone, catch_up, overlap, origin, start_at, next_at,
                               created_at, updated_at)
VALUES (@name, @kind, @queue, @payload, @options,
        @spec, @zone, @catch_up, @overlap, @origin,
        @now, @next_at, @now, @now)
ON CONFLICT (name) DO UPDATE SET
    kind = excluded.kind, queue = excluded.queue, payload = excluded.payload, options = excluded.options, spec = excluded.spec,
    zone = excluded.zone, catch_up = excluded.catch_up, overlap = excluded.overlap, origin = excluded.origin,
    start_at = CASE WHEN sqluice_schedules.spec = excluded.spec AND sqluice_schedules.zone = excluded.zone
        THEN sqluice_schedules.start_at ELSE excluded.start_at END,
    next_at = CASE WHEN sqluice_schedules.spec = excluded.spec AND sqluice_schedules.zone = excluded.zone
        THEN sqluice_schedules.next_at ELSE excluded.next_at END,
    fault = NULL, version = sqluice_schedules.version + 1, updated_at = excluded.updated_at
WHERE sqluice_schedules.kind <> excluded.kind OR sqluice_schedules.queue <> excluded.queue OR sqluice_schedules.payload <> excluded.payload
   OR sqluice_schedules.options <> excluded.options OR sqluice_schedules.spec <> excluded.spec OR sqluice_schedules.zone <> excluded.zone
   OR sqluice_schedules.catch_up <> excluded.catch_up OR sqluice_schedules.overlap <> excluded.overlap
   OR sqluice_schedules.origin <> excluded.origin OR sqluice_schedules.fault IS NOT NULL;

-- name: GetSchedule :one
-- GetSchedule returns a schedule.
SELECT s.* FROM sqluice_schedules AS s WHERE s.name = @name;

-- name: ListSchedules :many
-- ListSchedules lists schedules by name, from after one on.
SELECT s.* FROM sqluice_schedules AS s WHERE s.name > @after_name ORDER BY s.name LIMIT @n;

-- name: PauseSchedule :execrows
-- PauseSchedule stops a schedule. Zero rows mean that it was paused already, or is not there.
UPDATE sqluice_schedules SET updated_at = @now, paused_at = @now, owed_at = NULL, version = version + 1
WHERE name = @name AND paused_at IS NULL;

-- name: ResumeSchedule :execrows
-- ResumeSchedule lets a schedule go on, from the next tick on. Zero rows mean that it is not as it was read, or not there.
UPDATE sqluice_schedules SET updated_at = @now, paused_at = NULL, next_at = @next_at, version = version + 1
WHERE name = @name AND version = @version AND paused_at IS NOT NULL;

-- name: DeleteSchedule :execrows
-- DeleteSchedule removes a schedule; its jobs stay.
DELETE FROM sqluice_schedules WHERE name = @name;

-- name: AdvanceSchedule :execrows
-- AdvanceSchedule notes the next tick of a schedule, if it is as it was read. Of many workers one gets a row. (Plain SQL does not raise
-- the version.)
UPDATE sqluice_schedules SET updated_at = @now, next_at = @next_at, fault = NULL, version = version + 1
WHERE name = @name AND version = @version AND next_at = @was_at AND paused_at IS NULL;

-- name: NoteScheduleJob :exec
-- NoteScheduleJob notes the last job of a schedule and its tick, and the tick that it owes.
UPDATE sqluice_schedules SET last_at = sqlc.narg('last_at'), last_job_id = sqlc.narg('last_job_id'),
       owed_at = sqlc.narg('owed_at')
WHERE name = @name;

-- name: SetScheduleFault :exec
-- SetScheduleFault notes why a worker could not enqueue a schedule's job.
UPDATE sqluice_schedules SET updated_at = @now, fault = CAST(@fault AS TEXT)
WHERE name = @name AND COALESCE(fault, '') <> @fault;

-- name: AddScheduleTick :execrows
-- AddScheduleTick notes what comes of a tick. Zero rows mean that something has come of it before.
INSERT INTO sqluice_schedule_ticks (schedule, tick, outcome, since, at)
VALUES (@schedule, @tick, @outcome, sqlc.narg('since'), @now)
ON CONFLICT DO NOTHING;

-- name: EndScheduleTick :exec
-- EndScheduleTick notes what came of a tick.
UPDATE sqluice_schedule_ticks SET outcome = @outcome, job_id = sqlc.narg('job_id'),
       replaced_id = sqlc.narg('replaced_id'), at = @now
WHERE schedule = @schedule AND tick = @tick;

-- name: SkipOwedTicks :exec
-- SkipOwedTicks notes that nothing comes of a tick that a schedule owed.
UPDATE sqluice_schedule_ticks SET outcome = 'skipped', at = @now
WHERE schedule = @schedule AND outcome = 'owed';

-- name: DeleteOldScheduleTicks :execrows
-- DeleteOldScheduleTicks removes the ticks of a schedule but for the newest.
DELETE FROM sqluice_schedule_ticks
WHERE schedule = CAST(@schedule AS TEXT) AND tick <= COALESCE((
    SELECT t.tick FROM sqluice_schedule_ticks AS t WHERE t.schedule = @schedule
    ORDER BY t.tick DESC LIMIT 1 OFFSET @keep
), -1);

-- name: ListScheduleTicks :many
-- ListScheduleTicks lists the ticks of a schedule, newest first.
SELECT t.* FROM sqluice_schedule_ticks AS t WHERE t.schedule = @schedule ORDER BY t.tick DESC LIMIT @n;

-- name: ListReplacingTicks :many
-- ListReplacingTicks lists the ticks of a schedule for which a job was cancelled.
SELECT t.* FROM sqluice_schedule_ticks AS t
WHERE t.schedule = @schedule AND t.replaced_id = CAST(@job_id AS BIGINT) ORDER BY t.tick;

-- name: ListScheduleTimes :many
-- ListScheduleTimes lists when schedules are due, and what keeps them from it.
SELECT s.name, s.kind, s.queue, s.origin, s.next_at, COALESCE(s.paused_at, 0) AS paused_at, COALESCE(s.fault, '') AS fault
FROM sqluice_schedules AS s;
