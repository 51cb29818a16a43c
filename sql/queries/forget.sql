-- name: ListJobsOfUser :many
-- ListJobsOfUser lists the jobs of a user from after one on, in the order of their ids, and whether there is anything to erase.
SELECT j.id, j.status,
  CAST(CASE WHEN j.payload <> '"[forgotten]"' OR j.metadata IS NOT NULL OR j.tags IS NOT NULL OR j.progress IS NOT NULL OR j.result IS NOT NULL
      OR j.last_error IS NOT NULL
      OR EXISTS (SELECT 1 FROM sqluice_job_errors AS e WHERE e.job_id = j.id AND (e.message NOT IN ('', '[forgotten]') OR e.stack <> ''))
      OR EXISTS (SELECT 1 FROM sqluice_refusals AS r WHERE r.job_id = j.id AND r.message <> '[forgotten]')
    THEN 1 ELSE 0 END AS BIGINT) AS carries
FROM sqluice_jobs AS j
WHERE j.user_id = CAST(@user_id AS TEXT) AND j.id > @after_id AND j.status <> 'deleted'
ORDER BY j.id LIMIT @n;

-- name: ForgetJob :execrows
-- ForgetJob erases what a job of a user carries that has ended.
UPDATE sqluice_jobs SET payload = '"[forgotten]"', metadata = NULL, tags = NULL, progress = NULL, result = NULL, last_error = NULL
WHERE id = @id AND user_id = CAST(@user_id AS TEXT)
  AND (status = 'done' OR status = 'failed' OR status = 'cancelled')
  AND (payload <> '"[forgotten]"' OR metadata IS NOT NULL OR tags IS NOT NULL OR progress IS NOT NULL
       OR result IS NOT NULL OR last_error IS NOT NULL);

-- name: ForgetJobErrors :execrows
-- ForgetJobErrors erases the texts of the attempts of a job.
UPDATE sqluice_job_errors SET message = '[forgotten]', stack = '' WHERE job_id = @job_id AND (message NOT IN ('', '[forgotten]') OR stack <> '');

-- name: ForgetRefusals :execrows
-- ForgetRefusals erases why the database refused what concerns a job.
UPDATE sqluice_refusals SET message = '[forgotten]' WHERE job_id = @job_id AND message <> '[forgotten]';
