-- name: DeleteFinishedJobs :execrows
-- DeleteFinishedJobs removes up to n jobs of one final status that finished before a time, the oldest first.
-- It passes over rows that another process is deleting (on SQLite there are none).
DELETE FROM jobs WHERE id = ANY (ARRAY(
    SELECT f.id FROM jobs AS f
    WHERE f.status = CAST(@status AS TEXT) AND f.finished_at IS NOT NULL AND f.finished_at < CAST(@before AS BIGINT)
    ORDER BY f.finished_at LIMIT CAST(@n AS BIGINT)
    FOR UPDATE SKIP LOCKED
));
