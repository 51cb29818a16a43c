-- name: AddJobChanges :exec
-- AddJobChanges notes what a transaction did to jobs: a JSON list of [queue, kind, event, times, jobs].
INSERT INTO sqluice_job_changes (at, queue, kind, event, times, jobs)
SELECT @at, e.value->>0, e.value->>1, e.value->>2, CAST(e.value->>3 AS BIGINT), CAST(e.value->>4 AS BIGINT)
FROM jsonb_array_elements(CAST(CAST(@items AS TEXT) AS jsonb)) AS e (value);

-- name: TakeJobChanges :many
-- TakeJobChanges removes up to n notes after an id and returns them.
DELETE FROM sqluice_job_changes WHERE id = ANY (ARRAY(
    SELECT c.id FROM sqluice_job_changes AS c WHERE c.id > @after ORDER BY c.id LIMIT CAST(@n AS BIGINT) FOR UPDATE SKIP LOCKED
))
RETURNING at, queue, kind, event, times, jobs;

-- name: AddJobCounts :exec
-- AddJobCounts adds to the counts a JSON list of [queue, kind, status, jobs].
INSERT INTO sqluice_job_counts (queue, kind, status, jobs)
SELECT e.value->>0, e.value->>1, e.value->>2, CAST(e.value->>3 AS BIGINT)
FROM jsonb_array_elements(CAST(CAST(@items AS TEXT) AS jsonb)) AS e (value)
ON CONFLICT (queue, kind, status) DO UPDATE SET jobs = GREATEST(LEAST(sqluice_job_counts.jobs + excluded.jobs, 1000000000000), -1000000000000);

-- name: AddJobHistory :exec
-- AddJobHistory adds to the steps of time a JSON list of [step, start_at, queue, kind, event, bucket, times].
INSERT INTO sqluice_job_history (step, start_at, queue, kind, event, bucket, times)
SELECT CAST(e.value->>0 AS BIGINT), CAST(e.value->>1 AS BIGINT), e.value->>2, e.value->>3, e.value->>4,
       CAST(e.value->>5 AS BIGINT), CAST(e.value->>6 AS BIGINT)
FROM jsonb_array_elements(CAST(CAST(@items AS TEXT) AS jsonb)) AS e (value)
ON CONFLICT (step, start_at, queue, kind, event, bucket) DO UPDATE SET times = LEAST(sqluice_job_history.times + excluded.times, 1000000000000);

-- name: ListJobHistory :many
-- ListJobHistory lists what happened in those steps of one length that begin at a JSON list of times, for a JSON list of
-- queues and a kind, of which an empty name means all; and of each queue what is in no step yet, since one time and before
-- another.
SELECT h.queue, h.start_at AS at, h.event, h.bucket, h.times, CAST(0 AS BIGINT) AS noted
FROM sqluice_job_history AS h
WHERE h.step = @step AND h.start_at = ANY (CAST((SELECT sqluice_ids(@starts)) AS BIGINT[]))
  AND h.queue = ANY (ARRAY(
    SELECT q.value FROM jsonb_array_elements_text(CAST(CAST(@queues AS TEXT) AS jsonb)) AS q (value)))
  AND h.kind = @kind
UNION ALL
SELECT c.queue, CAST(c.at - c.at % 60000000 AS BIGINT) AS at, c.event, 0 AS bucket,
       CAST(SUM(c.times) AS BIGINT) AS times, 1 AS noted
FROM sqluice_job_changes AS c
WHERE c.times <> 0 AND c.at >= @since AND c.at < @until
  AND (@kind = '' OR c.kind = @kind)
GROUP BY c.queue, c.at - c.at % 60000000, c.event;

-- name: LockCounts :exec
-- LockCounts lets one recount go on at a time: two at once would find the same counts wrong, and correct them twice. It lasts to
-- the end of the transaction. On SQLite, where one transaction writes at a time anyway, it does nothing.
LOCK TABLE sqluice_job_counts IN SHARE UPDATE EXCLUSIVE MODE;
