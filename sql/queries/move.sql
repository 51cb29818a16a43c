-- name: CloseQueue :execrows
-- CloseQueue closes the queue for a move. Zero rows mean that it is closed already.
INSERT INTO sqluice_moves (direction, token, peer, started_at)
SELECT @direction, @token, @peer, @now
WHERE NOT EXISTS (SELECT 1 FROM sqluice_moves AS m)
ON CONFLICT DO NOTHING;

-- name: ListMoves :many
-- ListMoves lists what closes the queue: nothing as a rule.
SELECT m.* FROM sqluice_moves AS m ORDER BY m.direction;

-- name: OpenQueue :execrows
-- OpenQueue opens the queue again that the move with a token closed.
DELETE FROM sqluice_moves WHERE token = @token;

-- name: ListJobsFrom :many
-- ListJobsFrom lists jobs in the order of their ids, from after one on.
SELECT j.* FROM sqluice_jobs AS j WHERE j.id > @after_id AND j.status <> 'deleted' ORDER BY j.id LIMIT @n;

-- name: ListJobErrorsFrom :many
-- ListJobErrorsFrom lists the rows of all jobs' errors in the order of their ids, from after one on.
SELECT e.* FROM sqluice_job_errors AS e WHERE e.id > @after_id ORDER BY e.id LIMIT @n;

-- name: ListWorkersFrom :many
-- ListWorkersFrom lists the rows of workers, also of those that ended, in the order of their ids, from after one on.
SELECT w.* FROM sqluice_workers AS w WHERE w.id > @after_id ORDER BY w.id LIMIT @n;

-- name: ListAuditFrom :many
-- ListAuditFrom lists what was changed in the order of the rows' ids, from after one on.
SELECT a.* FROM sqluice_job_audit AS a WHERE a.id > @after_id ORDER BY a.id LIMIT @n;

-- name: GetLastIDs :one
-- GetLastIDs returns the largest id of each table; 0 when it is empty.
SELECT CAST(COALESCE((SELECT j.id FROM sqluice_jobs AS j WHERE j.status <> 'deleted' ORDER BY j.id DESC LIMIT 1), 0) AS BIGINT) AS job,
       CAST((SELECT COALESCE(MAX(e.id), 0) FROM sqluice_job_errors AS e) AS BIGINT) AS job_error,
       CAST((SELECT COALESCE(MAX(w.id), 0) FROM sqluice_workers AS w) AS BIGINT) AS worker,
       CAST((SELECT COALESCE(MAX(a.id), 0) FROM sqluice_job_audit AS a) AS BIGINT) AS audit;

-- name: ListAllScheduleTicks :many
-- ListAllScheduleTicks lists the ticks of all schedules.
SELECT t.* FROM sqluice_schedule_ticks AS t ORDER BY t.schedule, t.tick;

-- name: ListAllUniqueKeys :many
-- ListAllUniqueKeys lists the unique keys that are or were taken until a time.
SELECT k.* FROM sqluice_unique_keys AS k ORDER BY k.kind, k.unique_key;

-- name: ListAllLimits :many
-- ListAllLimits lists the limits that people have set.
SELECT l.* FROM sqluice_limits AS l ORDER BY l.scope, l.name, l.limit_key;

-- name: ListAllLimitKeys :many
-- ListAllLimitKeys lists what claims must know of limit keys.
SELECT k.* FROM sqluice_limit_keys AS k ORDER BY k.scope, k.name, k.limit_key;

-- name: ListAllLanes :many
-- ListAllLanes lists all lanes.
SELECT l.* FROM sqluice_lanes AS l ORDER BY l.kind, l.limit_key, l.queue;
