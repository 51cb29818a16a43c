-- name: Declare :exec
-- Declare notes the contents that a program declares: a JSON list of lists of id, subject, name and body, in the order of the ids.
INSERT INTO sqluice_declarations (id, subject, name, body, ordinal, declared_at, seen_at)
SELECT e.value->>0, e.value->>1, e.value->>2, e.value->>3,
       COALESCE((SELECT MAX(d.ordinal) FROM sqluice_declarations AS d WHERE d.subject = e.value->>1 AND d.name = e.value->>2), 0) + 1,
       @now, @now
FROM jsonb_array_elements(CAST(CAST(@items AS TEXT) AS jsonb)) AS e (value)
ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at;

-- name: ListWorkerDeclarations :many
-- ListWorkerDeclarations lists what a worker declares. newest is 1 when no live worker declares a newer content of the name.
SELECT d.*, CAST(CASE WHEN EXISTS (
           SELECT 1 FROM sqluice_declarations AS o
           WHERE o.subject = d.subject AND o.name = d.name AND (o.ordinal > d.ordinal OR o.ordinal = d.ordinal AND o.id > d.id)
             AND o.id IN (SELECT v.value FROM (SELECT DISTINCT l.declares FROM sqluice_workers AS l WHERE l.ended_at IS NULL) AS s, jsonb_array_elements_text(CAST(s.declares AS jsonb)) AS v (value))
       ) THEN 0 ELSE 1 END AS BIGINT) AS newest
FROM sqluice_declarations AS d
WHERE d.id IN (SELECT e.value FROM sqluice_workers AS w, jsonb_array_elements_text(CAST(w.declares AS jsonb)) AS e (value) WHERE w.id = @worker_id)
ORDER BY d.id;

-- name: LockDeclarations :many
-- LockDeclarations lists all contents of the names that a worker declares, by id. On PostgreSQL it locks them.
SELECT d.id, d.subject, d.name FROM sqluice_declarations AS d
WHERE (d.subject, d.name) IN (
    SELECT o.subject, o.name FROM sqluice_workers AS w CROSS JOIN jsonb_array_elements_text(CAST(w.declares AS jsonb)) AS e (value)
    JOIN sqluice_declarations AS o ON o.id = e.value
    WHERE w.id = @worker_id)
ORDER BY d.id
FOR NO KEY UPDATE;

-- name: LockDeclarationsOf :many
-- LockDeclarationsOf lists the ids of all contents of a name. On PostgreSQL it locks them.
SELECT d.id FROM sqluice_declarations AS d WHERE d.subject = @subject AND d.name = @name ORDER BY d.id
FOR NO KEY UPDATE;

-- name: ListLiveDeclarations :many
-- ListLiveDeclarations lists what live workers declare of a subject, of one name unless that is NULL: a row for each worker.
SELECT w.id AS worker_id, w.name AS worker, w.version AS worker_version, d.id, d.name, d.body, d.in_force, d.declared_at
FROM sqluice_workers AS w CROSS JOIN jsonb_array_elements_text(CAST(w.declares AS jsonb)) AS e (value)
JOIN sqluice_declarations AS d ON d.id = e.value
WHERE w.ended_at IS NULL AND 2 * w.lease_until - w.heartbeat_at >= CAST(@now AS BIGINT) AND d.subject = @subject
  AND (d.name = sqlc.narg('name') OR sqlc.narg('name') IS NULL)
ORDER BY w.id, d.name;

-- name: DeleteOldDeclarations :execrows
-- DeleteOldDeclarations removes all contents of a schedule when no worker has declared one of them since a time. Those of kinds and queues
-- stay: the order in which contents were seen tells which one is newer, whatever starts again.
DELETE FROM sqluice_declarations
WHERE subject = 'schedule' AND seen_at < CAST(@before AS BIGINT) AND name NOT IN (
    SELECT o.name FROM sqluice_declarations AS o
    WHERE o.subject = 'schedule' AND (o.seen_at >= CAST(@before AS BIGINT)
       OR o.id IN (SELECT v.value FROM (SELECT DISTINCT w.declares FROM sqluice_workers AS w) AS s, jsonb_array_elements_text(CAST(s.declares AS jsonb)) AS v (value)))
);
