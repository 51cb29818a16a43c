INSERT INTO sqluice_jobs (kind, queue, payload, status, priority, run_after, max_attempts, timeout, user_id, tags, metadata, created_at, updated_at)
VALUES (CASE WHEN EXISTS (SELECT 1 FROM sqluice_moves) THEN NULL ELSE ? END, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
