-- name: ListFailedJobs :many
-- ListFailedJobs lists the jobs that failed since a time, the latest first: the columns of a list, and how many
-- bytes their large columns have. An error that is encrypted is not cut: it could not be decrypted.
SELECT j.id, j.kind, j.queue, CAST(COALESCE(j.finished_at, 0) AS BIGINT) AS finished_at,
       CAST(CASE WHEN SUBSTR(j.last_error, 1, 18) = 'sqluice:encrypted:' THEN j.last_error
            ELSE SUBSTR(COALESCE(j.last_error, ''), 1, 1000) END AS TEXT) AS error,
       CAST(octet_length(j.payload) + COALESCE(octet_length(j.metadata), 0) + COALESCE(octet_length(j.progress), 0)
            + COALESCE(octet_length(j.result), 0) + COALESCE(octet_length(j.last_error), 0)
            + COALESCE(octet_length(j.tags), 0) AS BIGINT) AS bytes
FROM sqluice_jobs AS j WHERE j.id IN (
    SELECT a.id FROM (
        SELECT f.id FROM sqluice_jobs AS f
        WHERE f.status = 'failed' AND f.finished_at >= CAST(@since AS BIGINT) AND (f.finished_at, f.id) < (CAST(@before_time AS BIGINT), CAST(@before_id AS BIGINT))
          AND CAST(sqlc.narg('kind') AS TEXT) IS NULL
        ORDER BY f.finished_at DESC, f.id DESC LIMIT @n) AS a
    UNION ALL
    SELECT o.id FROM (
        SELECT k.id, k.kind, k.finished_at FROM sqluice_jobs AS k
        WHERE k.status = 'failed' /* in a form that only sqluice_jobs_failed_kind serves: the latest of the kind, or earlier ones */
          AND (k.kind, k.finished_at, k.id) < (sqlc.narg('kind'), @before_time, @before_id)
        ORDER BY k.kind DESC, k.finished_at DESC, k.id DESC LIMIT @n) AS o
    WHERE o.kind = sqlc.narg('kind') AND o.finished_at >= @since
) ORDER BY j.finished_at DESC, j.id DESC;

-- name: ReportFailedJobs :many
-- ReportFailedJobs groups the latest of the jobs that failed since a time by kind, error and cause, the most frequent first, then
-- the latest. With a kind it looks at those of that kind. looked_at is the number of jobs in all groups. cause is that of a
-- job's last attempt that did not end well, and empty when there is none.
SELECT g.kind, g.error, g.jobs, g.first_seen, g.last_seen, g.example_id, g.looked_at, g.cause
FROM (
    SELECT f.kind, CAST(f.error AS TEXT) AS error, CAST(f.cause AS TEXT) AS cause, CAST(COUNT(*) AS BIGINT) AS jobs,
           CAST(MIN(f.finished_at) AS BIGINT) AS first_seen, CAST(MAX(f.finished_at) AS BIGINT) AS last_seen,
           CAST(MAX(f.id) AS BIGINT) AS example_id, CAST(SUM(COUNT(*)) OVER () AS BIGINT) AS looked_at
    FROM (
        SELECT r.id, r.kind, r.error, r.finished_at, COALESCE((
            SELECT e.cause FROM sqluice_job_errors AS e WHERE e.job_id = r.id AND e.cause NOT IN ('snoozed', 'released', 'cancelled', 'unable')
            ORDER BY e.attempt DESC, e.id DESC LIMIT 1), '') AS cause
        FROM (
            SELECT a.id, a.kind, a.error, a.finished_at FROM (
                SELECT j.id, j.kind, COALESCE(j.last_error, '') AS error, j.finished_at FROM sqluice_jobs AS j
                WHERE j.status = 'failed' AND j.finished_at >= CAST(@since AS BIGINT) AND CAST(sqlc.narg('kind') AS TEXT) IS NULL
                ORDER BY j.finished_at DESC, j.id DESC LIMIT @most) AS a
            UNION ALL
            SELECT o.id, o.kind, o.error, o.finished_at FROM (
                SELECT k.id, k.kind, COALESCE(k.last_error, '') AS error, k.finished_at FROM sqluice_jobs AS k
                WHERE k.status = 'failed' AND (k.kind, k.finished_at) <= (sqlc.narg('kind'), 9223372036854775807) /* as above */
                ORDER BY k.kind DESC, k.finished_at DESC, k.id DESC LIMIT @most) AS o
            WHERE o.kind = sqlc.narg('kind') AND o.finished_at >= @since
        ) AS r
    ) AS f
    GROUP BY f.kind, f.error, f.cause
    ORDER BY COUNT(*) DESC, MAX(f.finished_at) DESC, MAX(f.id) DESC LIMIT @n
) AS g
ORDER BY g.jobs DESC, g.last_seen DESC, g.example_id DESC;
