-- name: ListOverdueJobIDs :many
-- ListOverdueJobIDs lists up to n jobs that were to start by now, were not and are not set aside, the most overdue ones first.
SELECT d.id FROM sqluice_jobs AS d
WHERE d.start_by IS NOT NULL AND d.status IN ('scheduled', 'waiting', 'pending') AND d.start_by <= CAST(@now AS BIGINT)
  AND NOT EXISTS (SELECT 1 FROM sqluice_refusals AS r WHERE r.job_id = d.id AND r.action = 'expire' AND r.again_at > @now LIMIT 1 OFFSET 0)
ORDER BY d.start_by LIMIT @n;
