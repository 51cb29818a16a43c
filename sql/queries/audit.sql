-- name: AddAudit :exec
-- AddAudit records what an actor changed, in the transaction that changes it.
INSERT INTO sqluice_job_audit (at, actor, action, job_id, kind, queue, jobs, job_ids, detail)
VALUES (CAST(@now AS BIGINT), CAST(@actor AS TEXT), CAST(@action AS TEXT), CAST(sqlc.narg('job_id') AS BIGINT),
        CAST(sqlc.narg('kind') AS TEXT), CAST(sqlc.narg('queue') AS TEXT), CAST(@jobs AS BIGINT),
        CAST(sqlc.narg('job_ids') AS TEXT), CAST(sqlc.narg('detail') AS TEXT));

-- name: GetJobSubject :one
-- GetJobSubject is what a note of a change says of a job beside its id.
SELECT j.kind, j.queue FROM sqluice_jobs AS j WHERE j.id = CAST(@id AS BIGINT) AND j.status <> 'deleted';

-- name: ListAudit :many
-- ListAudit lists what was changed since a time, newest first, below an id.
SELECT a.* FROM sqluice_job_audit AS a
WHERE a.id < CAST(@before_id AS BIGINT) AND a.at >= CAST(@since AS BIGINT)
  AND (CAST(sqlc.narg('actor') AS TEXT) IS NULL OR a.actor = CAST(sqlc.narg('actor') AS TEXT))
  AND (CAST(sqlc.narg('action') AS TEXT) IS NULL OR a.action = CAST(sqlc.narg('action') AS TEXT))
ORDER BY a.id DESC LIMIT CAST(@n AS BIGINT);
