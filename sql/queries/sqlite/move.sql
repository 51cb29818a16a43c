-- name: ImportJobErrors :execrows
-- ImportJobErrors adds rows as they are: a JSON list of lists, each in the order of the table's columns.
INSERT INTO sqluice_job_errors (id, job_id, attempt, worker_id, started_at, ended_at, cause, message, stack)
SELECT e.value->>0, e.value->>1, e.value->>2, e.value->>3, e.value->>4, e.value->>5, e.value->>6, e.value->>7,
       e.value->>8
FROM json_each(CAST(@items AS TEXT)) AS e;

-- name: ImportWorkers :execrows
-- ImportWorkers adds rows as they are: a JSON list of lists, each in the order of the table's columns.
INSERT INTO sqluice_workers (id, name, lock_key, host, pid, version, queues, kinds, started_at, heartbeat_at,
                     lease_until, ended_at, end_reason)
SELECT e.value->>0, e.value->>1, e.value->>2, e.value->>3, e.value->>4, e.value->>5, e.value->>6, e.value->>7,
       e.value->>8, e.value->>9, e.value->>10, e.value->>11, e.value->>12
FROM json_each(CAST(@items AS TEXT)) AS e;

-- name: ImportQueues :execrows
-- ImportQueues adds rows as they are: a JSON list of lists, each in the order of the table's columns.
INSERT INTO sqluice_queues (name, paused_at, updated_at)
SELECT e.value->>0, e.value->>1, e.value->>2
FROM json_each(CAST(@items AS TEXT)) AS e;

-- name: ImportAudit :execrows
-- ImportAudit adds rows as they are: a JSON list of lists, each in the order of the table's columns.
INSERT INTO sqluice_job_audit (id, at, actor, action, job_id, kind, queue, jobs, job_ids, detail)
SELECT e.value->>0, e.value->>1, e.value->>2, e.value->>3, e.value->>4, e.value->>5, e.value->>6, e.value->>7,
       e.value->>8, e.value->>9
FROM json_each(CAST(@items AS TEXT)) AS e;
