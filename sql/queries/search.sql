-- name: ListJobIDs :many
-- ListJobIDs lists the ids of jobs, the highest first, below an id: a step of a search.
SELECT j.id FROM sqluice_jobs AS j WHERE j.id < @before_id AND j.status <> 'deleted' ORDER BY j.id DESC LIMIT @n;

-- name: ListJobIDsByStatus :many
-- ListJobIDsByStatus lists ids of jobs that have a status and are alive, in no order: all when they are fewer than n. Each
-- status is read from an index of its own.
SELECT i.id FROM (
    SELECT p.id FROM sqluice_jobs AS p WHERE p.status = 'pending' AND CAST(@status AS TEXT) = 'pending'
    UNION ALL
    SELECT s.id FROM sqluice_jobs AS s WHERE s.status = 'scheduled' AND @status = 'scheduled'
    UNION ALL
    SELECT w.id FROM sqluice_jobs AS w WHERE w.status = 'waiting' AND @status = 'waiting'
    UNION ALL
    SELECT r.id FROM sqluice_jobs AS r WHERE r.status = 'running' AND r.finished_at IS NULL AND @status = 'running'
) AS i LIMIT @n;
