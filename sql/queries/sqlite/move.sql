-- name: ImportJobErrors :execrows
-- ImportJobErrors adds rows as they are: a JSON list of lists, each in the order of the table's columns.
INSERT INTO sqluice_job_errors (id, job_id, attempt, worker_id, started_at, ended_at, cause, message, stack)
SELECT e.value->>0, e.value->>1, e.value->>2, e.value->>3, e.value->>4, e.value->>5, e.value->>6, e.value->>7,
       e.value->>8
FROM json_each(CAST(@items AS TEXT)) AS e;

-- name: ImportWorkers :execrows
-- ImportWorkers adds rows as they are: a JSON list of lists, each in the order of the table's columns.
INSERT INTO sqluice_workers (id, name, lock_key, host, pid, version, queues, kinds, started_at, heartbeat_at,
                     lease_until, ended_at, end_reason, schedules, declares)
SELECT e.value->>0, e.value->>1, e.value->>2, e.value->>3, e.value->>4, e.value->>5, e.value->>6, e.value->>7,
       e.value->>8, e.value->>9, e.value->>10, e.value->>11, e.value->>12, e.value->>13, e.value->>14
FROM json_each(CAST(@items AS TEXT)) AS e;

-- name: ImportDeclarations :execrows
-- ImportDeclarations adds rows as they are: a JSON list of lists, each in the order of the table's columns.
INSERT INTO sqluice_declarations (id, subject, name, body, ordinal, in_force, declared_at, seen_at)
SELECT e.value->>0, e.value->>1, e.value->>2, e.value->>3, e.value->>4, e.value->>5, e.value->>6, e.value->>7
FROM json_each(CAST(@items AS TEXT)) AS e;

-- name: ImportPauses :execrows
-- ImportPauses adds rows as they are: a JSON list of lists, each in the order of the table's columns.
INSERT INTO sqluice_pauses (queue, kind, paused_at, paused_until, paused_by, reason, updated_at)
SELECT e.value->>0, e.value->>1, e.value->>2, e.value->>3, e.value->>4, e.value->>5, e.value->>6
FROM json_each(CAST(@items AS TEXT)) AS e;

-- name: ImportRetentions :execrows
-- ImportRetentions adds rows as they are: a JSON list of lists, each in the order of the table's columns.
INSERT INTO sqluice_retentions (queue, kind, status, keep, origin, updated_by, updated_at)
SELECT e.value->>0, e.value->>1, e.value->>2, e.value->>3, e.value->>4, e.value->>5, e.value->>6
FROM json_each(CAST(@items AS TEXT)) AS e;

-- name: ImportAudit :execrows
-- ImportAudit adds rows as they are: a JSON list of lists, each in the order of the table's columns.
INSERT INTO sqluice_job_audit (id, at, actor, action, job_id, kind, queue, jobs, job_ids, detail)
SELECT e.value->>0, e.value->>1, e.value->>2, e.value->>3, e.value->>4, e.value->>5, e.value->>6, e.value->>7,
       e.value->>8, e.value->>9
FROM json_each(CAST(@items AS TEXT)) AS e;

-- name: ImportSchedules :execrows
-- ImportSchedules adds rows as they are: a JSON list of lists, each in the order of the table's columns.
INSERT INTO sqluice_schedules (name, kind, queue, payload, options, spec, zone, catch_up, overlap, origin, start_at, next_at, owed_at,
                               last_at, last_job_id, paused_at, fault, version, created_at, updated_at)
SELECT e.value->>0, e.value->>1, e.value->>2, e.value->>3, e.value->>4, e.value->>5, e.value->>6, e.value->>7,
       e.value->>8, e.value->>9, e.value->>10, e.value->>11, e.value->>12, e.value->>13, e.value->>14, e.value->>15,
       e.value->>16, e.value->>17, e.value->>18, e.value->>19
FROM json_each(CAST(@items AS TEXT)) AS e;

-- name: ImportScheduleTicks :execrows
-- ImportScheduleTicks adds rows as they are: a JSON list of lists, each in the order of the table's columns.
INSERT INTO sqluice_schedule_ticks (schedule, tick, outcome, since, job_id, replaced_id, at)
SELECT e.value->>0, e.value->>1, e.value->>2, e.value->>3, e.value->>4, e.value->>5, e.value->>6
FROM json_each(CAST(@items AS TEXT)) AS e;

-- name: ImportUniqueKeys :execrows
-- ImportUniqueKeys adds rows as they are: a JSON list of lists, each in the order of the table's columns.
INSERT INTO sqluice_unique_keys (kind, unique_key, taken_at, until, job_id)
SELECT e.value->>0, e.value->>1, e.value->>2, e.value->>3, e.value->>4
FROM json_each(CAST(@items AS TEXT)) AS e;

-- name: ImportLimits :execrows
-- ImportLimits adds rows as they are: a JSON list of lists, each in the order of the table's columns.
INSERT INTO sqluice_limits (scope, name, limit_key, running, starts, period, burst, weight, depth, on_full, ordered, set_at)
SELECT e.value->>0, e.value->>1, e.value->>2, e.value->>3, e.value->>4, e.value->>5, e.value->>6, e.value->>7, e.value->>8, e.value->>9,
       e.value->>10, e.value->>11
FROM json_each(CAST(@items AS TEXT)) AS e;

-- name: ImportLimitKeys :execrows
-- ImportLimitKeys adds rows as they are: a JSON list of lists, each in the order of the table's columns.
INSERT INTO sqluice_limit_keys (scope, name, limit_key, paid_until, closed_until, passed_id)
SELECT e.value->>0, e.value->>1, e.value->>2, e.value->>3, e.value->>4, e.value->>5
FROM json_each(CAST(@items AS TEXT)) AS e;

-- name: ImportLanes :execrows
-- ImportLanes adds rows as they are: a JSON list of lists, each in the order of the table's columns.
INSERT INTO sqluice_lanes (kind, limit_key, queue, priority, ready_at, held)
SELECT e.value->>0, e.value->>1, e.value->>2, e.value->>3, e.value->>4, e.value->>5
FROM json_each(CAST(@items AS TEXT)) AS e;
