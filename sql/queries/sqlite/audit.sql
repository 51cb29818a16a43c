-- name: ListAuditOfJob :many
-- ListAuditOfJob lists what was done to one job since a time, newest first, below an id: alone, or with others.
SELECT a.* FROM sqluice_job_audit AS a
WHERE a.id < @before_id AND a.at >= @since
  AND a.id IN (
    SELECT s.id FROM sqluice_job_audit AS s WHERE s.job_id = CAST(@job_id AS BIGINT)
    UNION ALL
    SELECT m.id FROM sqluice_job_audit AS m
    WHERE m.job_ids IS NOT NULL
      AND EXISTS (SELECT 1 FROM json_each(CASE WHEN json_valid(m.job_ids) THEN m.job_ids END) AS e WHERE e.value = @job_id))
  AND (a.actor = sqlc.narg('actor') OR sqlc.narg('actor') IS NULL)
  AND (a.action = sqlc.narg('action') OR sqlc.narg('action') IS NULL)
ORDER BY a.id DESC LIMIT @n;

-- name: DeleteOldAudit :execrows
-- DeleteOldAudit removes up to n rows from before a time, the oldest first.
DELETE FROM sqluice_job_audit WHERE id IN (
    SELECT o.id FROM sqluice_job_audit AS o WHERE o.at < @before ORDER BY o.at LIMIT @n);
