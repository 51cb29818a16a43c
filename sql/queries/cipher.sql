-- name: ListValueHeads :many
-- ListValueHeads lists the jobs from after one on, in the order of their ids: how the values begin that can be encrypted, and how many bytes
-- they have.
SELECT j.id, j.kind, CAST(SUBSTR(j.payload, 1, 100) AS TEXT) AS payload, CAST(SUBSTR(COALESCE(j.progress, ''), 1, 100) AS TEXT) AS progress,
       CAST(SUBSTR(COALESCE(j.result, ''), 1, 100) AS TEXT) AS result, CAST(SUBSTR(COALESCE(j.last_error, ''), 1, 100) AS TEXT) AS last_error,
       CAST(octet_length(j.payload) + COALESCE(octet_length(j.progress), 0) + COALESCE(octet_length(j.result), 0)
            + COALESCE(octet_length(j.last_error), 0) AS BIGINT) AS bytes
FROM sqluice_jobs AS j WHERE j.id > @after_id AND j.status <> 'deleted' ORDER BY j.id LIMIT @n;

-- name: RekeyJob :execrows
-- RekeyJob replaces the values of a job that can be encrypted. Zero rows mean that one of them has changed, or that the job is gone.
UPDATE sqluice_jobs SET payload = @payload, progress = sqlc.narg('progress'),
    result = sqlc.narg('new_result'), last_error = sqlc.narg('last_error')
WHERE id = @id AND payload = @old_payload AND COALESCE(progress, '') = CAST(@old_progress AS TEXT)
  AND COALESCE(result, '') = CAST(@old_result AS TEXT) AND COALESCE(last_error, '') = CAST(@old_last_error AS TEXT);

-- name: ListErrorTexts :many
-- ListErrorTexts lists the texts of attempts, from after one on, in the order of their ids.
SELECT e.id, e.job_id, j.kind, e.message, e.stack FROM sqluice_job_errors AS e JOIN sqluice_jobs AS j ON j.id = e.job_id
WHERE e.id > @after_id ORDER BY e.id LIMIT @n;

-- name: RekeyJobError :exec
-- RekeyJobError replaces the texts of an attempt, unless they have changed.
UPDATE sqluice_job_errors SET message = @message, stack = @stack
WHERE id = @id AND message = @old_message AND stack = @old_stack;

-- name: RekeySchedule :execrows
-- RekeySchedule replaces the payload of a schedule, unless it has changed.
UPDATE sqluice_schedules SET payload = @payload, version = version + 1
WHERE name = @name AND payload = @old_payload;
