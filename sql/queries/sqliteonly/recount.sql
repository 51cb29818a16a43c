-- name: CountJobStep :many
-- CountJobStep counts the next n jobs after an id by queue, kind and status: a step of a recount. last_id is the highest id
-- of each row. A statement that counts all jobs at once would keep all of them in memory to group them.
SELECT w.queue, w.kind, w.status, CAST(COUNT(*) AS BIGINT) AS jobs, CAST(MAX(w.id) AS BIGINT) AS last_id
FROM (
    SELECT j.id, j.queue, j.kind, j.status FROM sqluice_jobs AS j WHERE j.id > CAST(@after AS BIGINT)
    ORDER BY j.id LIMIT @n
) AS w
GROUP BY w.queue, w.kind, w.status;

-- name: SumJobCounts :many
-- SumJobCounts returns what the stored counts are, with the notes that are not added up yet.
SELECT u.queue, u.kind, u.status, CAST(SUM(u.jobs) AS BIGINT) AS jobs
FROM (
    SELECT c.queue, c.kind, c.status, c.jobs FROM sqluice_job_counts AS c
    UNION ALL
    SELECT d.queue, d.kind, d.event AS status, d.jobs FROM sqluice_job_changes AS d WHERE d.jobs <> 0
) AS u
GROUP BY u.queue, u.kind, u.status;
