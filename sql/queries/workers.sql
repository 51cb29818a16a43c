-- name: RegisterWorker :one
-- RegisterWorker adds the row of a worker whose lock is already held and returns its id. declares is a JSON list, or empty for none.
-- No row means that a live worker has the name, or that the queue is closed by a move.
INSERT INTO sqluice_workers (name, lock_key, host, pid, version, queues, kinds, declares, started_at, heartbeat_at, lease_until)
SELECT @name, @lock_key, @host, @pid,
       @version, @queues, @kinds,
       COALESCE(NULLIF(CAST(@declares AS TEXT), ''), '[]'),
       @now, @now, @lease_until
WHERE NOT EXISTS (SELECT 1 FROM sqluice_moves AS m)
ON CONFLICT DO NOTHING
RETURNING id;

-- name: HeartbeatWorker :execrows
-- HeartbeatWorker renews a worker's lease; zero rows mean that the worker was declared dead.
UPDATE sqluice_workers SET heartbeat_at = @now, lease_until = @lease_until
WHERE id = @id AND ended_at IS NULL;

-- name: SetWorkerQueues :execrows
-- SetWorkerQueues says which queues a worker serves by now, a JSON object of slots; zero rows mean that it was declared dead.
UPDATE sqluice_workers SET queues = @queues WHERE id = @id AND ended_at IS NULL;

-- name: EndWorker :execrows
-- EndWorker closes a worker's row; of many callers only one gets a row.
UPDATE sqluice_workers SET ended_at = CAST(@now AS BIGINT), end_reason = CAST(@end_reason AS TEXT)
WHERE id = @id AND ended_at IS NULL;

-- name: ListLiveWorkers :many
-- ListLiveWorkers lists the workers that have not ended, oldest first.
SELECT w.* FROM sqluice_workers AS w WHERE w.ended_at IS NULL ORDER BY w.id;

-- name: GetWorkerName :one
-- GetWorkerName returns the name and the host of a worker, which may have ended.
SELECT w.name, w.host FROM sqluice_workers AS w WHERE w.id = @id;

-- name: CountRunningJobsPerWorker :many
-- CountRunningJobsPerWorker counts the running jobs of each worker that has any.
SELECT COALESCE(j.worker_id, 0) AS worker_id, COUNT(*) AS jobs
FROM sqluice_jobs AS j WHERE j.status = 'running' AND j.finished_at IS NULL GROUP BY j.worker_id;

-- name: DeleteEndedWorkers :execrows
-- DeleteEndedWorkers drops the rows of workers that ended before a time.
DELETE FROM sqluice_workers WHERE ended_at IS NOT NULL AND ended_at < CAST(@before AS BIGINT);

-- name: ListHeldJobs :many
-- ListHeldJobs lists the jobs that a worker holds, and when their cancellation was requested.
SELECT j.id, j.attempt, COALESCE(j.cancel_requested_at, 0) AS cancel_requested_at FROM sqluice_jobs AS j
WHERE j.status = 'running' AND j.finished_at IS NULL AND j.worker_id = CAST(@worker_id AS BIGINT);
