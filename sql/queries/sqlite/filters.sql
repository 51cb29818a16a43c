-- name: ListJobIDsOfUser :many
-- ListJobIDsOfUser lists the ids of a user's jobs, the highest first, below an id: a step of a search.
SELECT j.id FROM sqluice_jobs AS j
WHERE j.user_id = CAST(@user_id AS TEXT) AND j.id < CAST(@before_id AS BIGINT) AND j.status <> 'deleted'
ORDER BY j.id DESC LIMIT @n;
