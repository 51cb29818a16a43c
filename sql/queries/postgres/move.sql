-- name: ImportJobErrors :execrows
-- ImportJobErrors adds rows as they are: a JSON list of lists, each in the order of the table's columns.
INSERT INTO sqluice_job_errors (id, job_id, attempt, worker_id, started_at, ended_at, cause, message, stack)
OVERRIDING SYSTEM VALUE
SELECT CAST(e.value->>0 AS BIGINT), CAST(e.value->>1 AS BIGINT), CAST(e.value->>2 AS BIGINT),
       CAST(e.value->>3 AS BIGINT), CAST(e.value->>4 AS BIGINT), CAST(e.value->>5 AS BIGINT), e.value->>6,
       e.value->>7, e.value->>8
FROM jsonb_array_elements(CAST(CAST(@items AS TEXT) AS jsonb)) AS e (value);

-- name: ImportWorkers :execrows
-- ImportWorkers adds rows as they are: a JSON list of lists, each in the order of the table's columns.
INSERT INTO sqluice_workers (id, name, lock_key, host, pid, version, queues, kinds, started_at, heartbeat_at,
                     lease_until, ended_at, end_reason, schedules, declares)
OVERRIDING SYSTEM VALUE
SELECT CAST(e.value->>0 AS BIGINT), e.value->>1, e.value->>2, e.value->>3, CAST(e.value->>4 AS BIGINT),
       e.value->>5, e.value->>6, e.value->>7, CAST(e.value->>8 AS BIGINT), CAST(e.value->>9 AS BIGINT),
       CAST(e.value->>10 AS BIGINT), CAST(e.value->>11 AS BIGINT), e.value->>12, e.value->>13, e.value->>14
FROM jsonb_array_elements(CAST(CAST(@items AS TEXT) AS jsonb)) AS e (value);

-- name: ImportDeclarations :execrows
-- ImportDeclarations adds rows as they are: a JSON list of lists, each in the order of the table's columns.
INSERT INTO sqluice_declarations (id, subject, name, body, ordinal, in_force, declared_at, seen_at)
SELECT e.value->>0, e.value->>1, e.value->>2, e.value->>3, CAST(e.value->>4 AS BIGINT), CAST(e.value->>5 AS BIGINT),
       CAST(e.value->>6 AS BIGINT), CAST(e.value->>7 AS BIGINT)
FROM jsonb_array_elements(CAST(CAST(@items AS TEXT) AS jsonb)) AS e (value);

-- name: ImportPauses :execrows
-- ImportPauses adds rows as they are: a JSON list of lists, each in the order of the table's columns.
INSERT INTO sqluice_pauses (queue, kind, paused_at, paused_until, paused_by, reason, updated_at)
SELECT e.value->>0, e.value->>1, CAST(e.value->>2 AS BIGINT), CAST(e.value->>3 AS BIGINT), e.value->>4, e.value->>5, CAST(e.value->>6 AS BIGINT)
FROM jsonb_array_elements(CAST(CAST(@items AS TEXT) AS jsonb)) AS e (value);

-- name: ImportRetentions :execrows
-- ImportRetentions adds rows as they are: a JSON list of lists, each in the order of the table's columns.
INSERT INTO sqluice_retentions (queue, kind, status, keep, origin, updated_by, updated_at)
SELECT e.value->>0, e.value->>1, e.value->>2, CAST(e.value->>3 AS BIGINT), e.value->>4, e.value->>5, CAST(e.value->>6 AS BIGINT)
FROM jsonb_array_elements(CAST(CAST(@items AS TEXT) AS jsonb)) AS e (value);

-- name: ImportAudit :execrows
-- ImportAudit adds rows as they are: a JSON list of lists, each in the order of the table's columns.
INSERT INTO sqluice_job_audit (id, at, actor, action, job_id, kind, queue, jobs, job_ids, detail)
OVERRIDING SYSTEM VALUE
SELECT CAST(e.value->>0 AS BIGINT), CAST(e.value->>1 AS BIGINT), e.value->>2, e.value->>3,
       CAST(e.value->>4 AS BIGINT), e.value->>5, e.value->>6, CAST(e.value->>7 AS BIGINT), e.value->>8, e.value->>9
FROM jsonb_array_elements(CAST(CAST(@items AS TEXT) AS jsonb)) AS e (value);

-- name: ImportSchedules :execrows
-- ImportSchedules adds rows as they are: a JSON list of lists, each in the order of the table's columns.
INSERT INTO sqluice_schedules (name, kind, queue, payload, options, spec, zone, catch_up, overlap, origin, start_at, next_at, owed_at,
                               last_at, last_job_id, paused_at, fault, version, created_at, updated_at)
SELECT e.value->>0, e.value->>1, e.value->>2, e.value->>3, e.value->>4, e.value->>5, e.value->>6, e.value->>7,
       e.value->>8, e.value->>9, CAST(e.value->>10 AS BIGINT), CAST(e.value->>11 AS BIGINT),
       CAST(e.value->>12 AS BIGINT), CAST(e.value->>13 AS BIGINT), CAST(e.value->>14 AS BIGINT),
       CAST(e.value->>15 AS BIGINT), e.value->>16, CAST(e.value->>17 AS BIGINT), CAST(e.value->>18 AS BIGINT),
       CAST(e.value->>19 AS BIGINT)
FROM jsonb_array_elements(CAST(CAST(@items AS TEXT) AS jsonb)) AS e (value);

-- name: ImportScheduleTicks :execrows
-- ImportScheduleTicks adds rows as they are: a JSON list of lists, each in the order of the table's columns.
INSERT INTO sqluice_schedule_ticks (schedule, tick, outcome, since, job_id, replaced_id, at)
SELECT e.value->>0, CAST(e.value->>1 AS BIGINT), e.value->>2, CAST(e.value->>3 AS BIGINT),
       CAST(e.value->>4 AS BIGINT), CAST(e.value->>5 AS BIGINT), CAST(e.value->>6 AS BIGINT)
FROM jsonb_array_elements(CAST(CAST(@items AS TEXT) AS jsonb)) AS e (value);

-- name: ImportUniqueKeys :execrows
-- ImportUniqueKeys adds rows as they are: a JSON list of lists, each in the order of the table's columns.
INSERT INTO sqluice_unique_keys (kind, unique_key, taken_at, until, job_id)
SELECT e.value->>0, e.value->>1, CAST(e.value->>2 AS BIGINT), CAST(e.value->>3 AS BIGINT), CAST(e.value->>4 AS BIGINT)
FROM jsonb_array_elements(CAST(CAST(@items AS TEXT) AS jsonb)) AS e (value);

-- name: ImportLimits :execrows
-- ImportLimits adds rows as they are: a JSON list of lists, each in the order of the table's columns.
INSERT INTO sqluice_limits (scope, name, limit_key, running, starts, period, burst, weight, depth, on_full, ordered, set_at)
SELECT e.value->>0, e.value->>1, e.value->>2, CAST(e.value->>3 AS BIGINT), CAST(e.value->>4 AS BIGINT), CAST(e.value->>5 AS BIGINT),
       CAST(e.value->>6 AS BIGINT), CAST(e.value->>7 AS BIGINT), CAST(e.value->>8 AS BIGINT), e.value->>9, e.value->>10, CAST(e.value->>11 AS BIGINT)
FROM jsonb_array_elements(CAST(CAST(@items AS TEXT) AS jsonb)) AS e (value);

-- name: ImportLimitKeys :execrows
-- ImportLimitKeys adds rows as they are: a JSON list of lists, each in the order of the table's columns.
INSERT INTO sqluice_limit_keys (scope, name, limit_key, paid_until, closed_until, passed_id)
SELECT e.value->>0, e.value->>1, e.value->>2, CAST(e.value->>3 AS BIGINT), CAST(e.value->>4 AS BIGINT), CAST(e.value->>5 AS BIGINT)
FROM jsonb_array_elements(CAST(CAST(@items AS TEXT) AS jsonb)) AS e (value);

-- name: ImportLanes :execrows
-- ImportLanes adds rows as they are: a JSON list of lists, each in the order of the table's columns.
INSERT INTO sqluice_lanes (kind, limit_key, queue, priority, ready_at, held)
SELECT e.value->>0, e.value->>1, e.value->>2, CAST(e.value->>3 AS BIGINT), CAST(e.value->>4 AS BIGINT), CAST(e.value->>5 AS BIGINT)
FROM jsonb_array_elements(CAST(CAST(@items AS TEXT) AS jsonb)) AS e (value);
