-- name: GetLiveJobIDByUniqueKey :one
-- GetLiveJobIDByUniqueKey finds the job that holds a unique key.
SELECT j.id FROM sqluice_jobs AS j
WHERE j.kind = CAST(@kind AS TEXT) AND j.unique_key = CAST(@unique_key AS TEXT)
  AND j.unique_key IS NOT NULL AND j.status IN ('scheduled', 'pending', 'running');

-- name: GetJobIDByRequestID :one
-- GetJobIDByRequestID finds the job that an earlier enqueue with the same request id made.
SELECT j.id FROM sqluice_jobs AS j
WHERE j.kind = CAST(@kind AS TEXT) AND j.request_id = CAST(@request_id AS TEXT) AND j.request_id IS NOT NULL;
