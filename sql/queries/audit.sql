-- name: AddAudit :exec
-- AddAudit records what an actor changed, in the transaction that changes it.
INSERT INTO sqluice_job_audit (at, actor, action, job_id, kind, queue, jobs, job_ids, detail)
VALUES (@now, @actor, @action, sqlc.narg('job_id'),
        sqlc.narg('kind'), sqlc.narg('queue'), @jobs,
        sqlc.narg('job_ids'), sqlc.narg('detail'));

-- name: GetJobSubject :one
-- GetJobSubject returns the kind and the queue of a job, which an entry of the audit log has beside its id.
SELECT j.kind, j.queue FROM sqluice_jobs AS j WHERE j.id = @id AND j.status <> 'deleted';

-- name: ListAudit :many
-- ListAudit lists what was changed since a time, newest first, below an id.
SELECT a.* FROM sqluice_job_audit AS a
WHERE a.id < @before_id AND a.at >= @since
  AND (a.actor = sqlc.narg('actor') OR sqlc.narg('actor') IS NULL)
  AND (a.action = sqlc.narg('action') OR sqlc.narg('action') IS NULL)
ORDER BY a.id DESC LIMIT @n;
