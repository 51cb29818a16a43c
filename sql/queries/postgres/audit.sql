-- name: ListAuditOfJob :many
-- ListAuditOfJob lists what was done to one job since a time, newest first, below an id: alone, or with others.
SELECT a.* FROM sqluice_job_audit AS a
WHERE a.id < CAST(@before_id AS BIGINT) AND COALESCE(a.at, 0) >= CAST(@since AS BIGINT) /* by the ids, not by the time */
  AND a.id = ANY (ARRAY(
    SELECT s.id FROM sqluice_job_audit AS s WHERE s.job_id = CAST(@job_id AS BIGINT)
    UNION ALL
    SELECT m.id FROM sqluice_job_audit AS m
    WHERE m.job_ids IS NOT NULL
      AND CAST(m.job_ids AS jsonb) @> to_jsonb(CAST(@job_id AS BIGINT))))
  AND (CAST(sqlc.narg('actor') AS TEXT) IS NULL OR a.actor = CAST(sqlc.narg('actor') AS TEXT))
  AND (CAST(sqlc.narg('action') AS TEXT) IS NULL OR a.action = CAST(sqlc.narg('action') AS TEXT))
ORDER BY a.id DESC LIMIT CAST(@n AS BIGINT);

-- name: DeleteOldAudit :execrows
-- DeleteOldAudit removes up to n rows from before a time, the oldest first.
DELETE FROM sqluice_job_audit WHERE id = ANY (ARRAY(
    SELECT o.id FROM sqluice_job_audit AS o WHERE o.at < CAST(@before AS BIGINT) ORDER BY o.at LIMIT CAST(@n AS BIGINT)
));
