-- name: GetPruneStep :one
-- GetPruneStep looks at the n jobs after one id and up to another: where they end (last_id, 0 when there are none), when the first of
-- them was created, how many of them may go, and when the next of the others may (next_at, -1 for none). How long a job is kept is
-- said by the rules of sqluice_retentions, unless rules is 0, and where they say nothing by done, failed and cancelled. A job that has
-- not ended may end at once, or at its run_after, and is kept from then on for the soonest of all times.
SELECT CAST(COALESCE(MAX(s.id), 0) AS BIGINT) AS last_id, CAST(COALESCE(MIN(s.created_at), 0) AS BIGINT) AS created_at,
       CAST(COALESCE(SUM(CASE WHEN s.finished_at < CAST(@now AS BIGINT) - s.keep THEN 1 ELSE 0 END), 0) AS BIGINT) AS expired,
       CAST(COALESCE(MIN(CASE WHEN s.finished_at >= CAST(@now AS BIGINT) - s.keep THEN s.finished_at + s.keep
                              WHEN s.keep IS NULL THEN s.from_at + CAST(@soonest AS BIGINT) END), -1) AS BIGINT) AS next_at
FROM (
    SELECT j.id, j.created_at, j.finished_at,
           CASE WHEN j.status = 'scheduled' AND j.run_after > @now THEN j.run_after ELSE @now END AS from_at,
           COALESCE((
               SELECT COALESCE(r.keep, 253402300799999999) FROM sqluice_retentions AS r
               WHERE CAST(@rules AS BIGINT) = 1 AND r.status = j.status AND r.kind IN ('', j.kind) AND r.queue IN ('', j.queue)
               ORDER BY r.kind = '', r.queue = '', r.origin LIMIT 1
           ), CASE j.status WHEN 'done' THEN CAST(@done AS BIGINT) WHEN 'failed' THEN CAST(@failed AS BIGINT)
                            WHEN 'cancelled' THEN CAST(@cancelled AS BIGINT) END) AS keep
    FROM sqluice_jobs AS j
    WHERE j.id > @after AND j.id <= @last_id AND j.status <> 'deleted'
    ORDER BY j.id LIMIT CAST(@n AS BIGINT)
) AS s;

-- name: GetNewestEndedID :one
-- GetNewestEndedID returns the id of the newest job if it has ended; else 0.
SELECT CAST(COALESCE((
    SELECT CASE WHEN j.finished_at IS NULL THEN 0 ELSE j.id END FROM sqluice_jobs AS j
    WHERE j.status <> 'deleted' ORDER BY j.id DESC LIMIT 1
), 0) AS BIGINT) AS id;

-- name: EmptyJob :execrows
-- EmptyJob erases what a job carries, with its keys, if it ended before a time. It is for the newest job, whose row keeps its id from
-- being given again. Zero rows mean that the job carries nothing, or is set aside.
UPDATE sqluice_jobs SET payload = '"[forgotten]"', metadata = NULL, tags = NULL, progress = NULL, result = NULL, last_error = NULL,
    unique_key = NULL, request_id = NULL, user_id = NULL
WHERE sqluice_jobs.id = @id AND (status = 'done' OR status = 'failed' OR status = 'cancelled') AND finished_at < CAST(@before AS BIGINT)
  AND (payload <> '"[forgotten]"' OR metadata IS NOT NULL OR tags IS NOT NULL OR progress IS NOT NULL OR result IS NOT NULL
       OR last_error IS NOT NULL OR unique_key IS NOT NULL OR request_id IS NOT NULL OR user_id IS NOT NULL
       OR EXISTS (SELECT 1 FROM sqluice_job_errors AS e WHERE e.job_id = sqluice_jobs.id))
  AND NOT EXISTS (SELECT 1 FROM sqluice_refusals AS r WHERE r.job_id = sqluice_jobs.id AND r.action = 'prune' AND r.again_at > @now);

-- name: DeleteJobErrors :exec
-- DeleteJobErrors removes the errors of a job.
DELETE FROM sqluice_job_errors WHERE job_id = @job_id;

-- name: DeleteJobRefusals :exec
-- DeleteJobRefusals removes why the database refused what concerns a job.
DELETE FROM sqluice_refusals WHERE job_id = @job_id;

-- name: ListRetentions :many
-- ListRetentions lists the rules for how long ended jobs are kept.
SELECT r.* FROM sqluice_retentions AS r ORDER BY r.queue, r.kind, r.status, r.origin;

-- name: GetRetention :one
-- GetRetention returns the rule that counts for the jobs of a queue and a kind that ended with a status.
SELECT r.* FROM sqluice_retentions AS r
WHERE r.status = @status AND r.kind IN ('', @kind) AND r.queue IN ('', @queue)
ORDER BY r.kind = '', r.queue = '', r.origin LIMIT 1;

-- name: PutRetention :execrows
-- PutRetention says how long jobs are kept. Zero rows mean that it was said already.
INSERT INTO sqluice_retentions (queue, kind, status, keep, origin, updated_by, updated_at)
VALUES (@queue, @kind, @status, sqlc.narg('keep'), 'client',
        sqlc.narg('updated_by'), @now)
ON CONFLICT (status, kind, queue, origin) DO UPDATE SET keep = excluded.keep, updated_by = excluded.updated_by, updated_at = excluded.updated_at
WHERE COALESCE(sqluice_retentions.keep, -1) <> COALESCE(excluded.keep, -1);

-- name: DeleteRetention :execrows
-- DeleteRetention removes a rule, and of two the one that counts. Zero rows mean that there was none.
DELETE FROM sqluice_retentions WHERE queue = CAST(@queue AS TEXT) AND kind = CAST(@kind AS TEXT) AND status = CAST(@status AS TEXT)
    AND origin = (SELECT MIN(r.origin) FROM sqluice_retentions AS r
                  WHERE r.queue = @queue AND r.kind = @kind AND r.status = @status);

-- name: DeclareRetention :exec
-- DeclareRetention says how long a program wants the done jobs of a kind kept.
INSERT INTO sqluice_retentions (kind, status, keep, origin, updated_at)
VALUES (@kind, 'done', sqlc.narg('keep'), 'code', @now)
ON CONFLICT (status, kind, queue, origin) DO UPDATE SET keep = excluded.keep, updated_at = excluded.updated_at
WHERE COALESCE(sqluice_retentions.keep, -1) <> COALESCE(excluded.keep, -1);

-- name: UndeclareRetention :execrows
-- UndeclareRetention removes the rule that programs declared for the done jobs of a kind. Zero rows mean that there was none.
DELETE FROM sqluice_retentions WHERE status = 'done' AND kind = @kind AND queue = '' AND origin = 'code';
