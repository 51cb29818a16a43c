INSERT INTO sqluice_jobs (kind, queue, payload, status, priority, run_after, max_attempts, timeout, user_id, tags, metadata, created_at, updated_at)
SELECT ?2, ?3, e.value, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?12
FROM json_each(?1) AS e
WHERE NOT EXISTS (SELECT 1 FROM sqluice_moves)
