-- name: AddJobChanges :exec
-- AddJobChanges notes what a transaction did to jobs: a JSON list of [queue, kind, event, times, jobs].
INSERT INTO sqluice_job_changes (at, queue, kind, event, times, jobs)
SELECT @at, e.value->>0, e.value->>1, e.value->>2, e.value->>3, e.value->>4
FROM json_each(CAST(@items AS TEXT)) AS e;

-- name: TakeJobChanges :many
-- TakeJobChanges removes up to n notes after an id and returns them.
DELETE FROM sqluice_job_changes WHERE id IN (SELECT c.id FROM sqluice_job_changes AS c WHERE c.id > @after ORDER BY c.id LIMIT CAST(@n AS BIGINT))
RETURNING at, queue, kind, event, times, jobs;

-- name: AddJobCounts :exec
-- AddJobCounts adds to the counts a JSON list of [queue, kind, status, jobs].
INSERT INTO sqluice_job_counts (queue, kind, status, jobs)
SELECT e.value->>0, e.value->>1, e.value->>2, e.value->>3 FROM json_each(CAST(@items AS TEXT)) AS e WHERE true
ON CONFLICT (queue, kind, status) DO UPDATE SET jobs = max(min(sqluice_job_counts.jobs + excluded.jobs, 1000000000000), -1000000000000);

-- name: AddJobHistory :exec
-- AddJobHistory adds to the steps of time a JSON list of [step, start_at, queue, kind, event, bucket, times].
INSERT INTO sqluice_job_history (step, start_at, queue, kind, event, bucket, times)
SELECT e.value->>0, e.value->>1, e.value->>2, e.value->>3, e.value->>4, e.value->>5, e.value->>6
FROM json_each(CAST(@items AS TEXT)) AS e WHERE true
ON CONFLICT (step, start_at, queue, kind, event, bucket) DO UPDATE SET times = min(sqluice_job_history.times + excluded.times, 1000000000000);

-- name: ListJobHistory :many
-- ListJobHistory lists what happened in those steps of one length that begin at a JSON list of times, for a JSON list of
-- queues and a kind, of which an empty name means all; and of each queue what is in no step yet, since one time and before
-- another.
SELECT h.queue, h.start_at AS at, h.event, h.bucket, h.times, 0 AS noted
FROM sqluice_job_history AS h
WHERE h.step = @step AND h.start_at IN (SELECT t.value FROM json_each(CAST(@starts AS TEXT)) AS t)
  AND h.queue IN (SELECT q.value FROM json_each(CAST(@queues AS TEXT)) AS q)
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
SELECT 1;
