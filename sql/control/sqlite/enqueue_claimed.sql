INSERT INTO sqluice_jobs (kind, queue, payload, status, priority, run_after, max_attempts, timeout, user_id, tags, metadata, created_at, updated_at,
                  attempt, worker_id, lease_until, started_at)
VALUES (CASE WHEN EXISTS (SELECT 1 FROM sqluice_moves)
               OR NOT EXISTS (SELECT 1 FROM sqluice_workers WHERE id = ?13 AND ended_at IS NULL)
               OR EXISTS (SELECT 1 FROM sqluice_queues WHERE name = ?2 AND paused_at IS NOT NULL)
               OR EXISTS (SELECT 1 FROM sqluice_jobs WHERE status = 'scheduled' AND run_after <= ?14)
               OR EXISTS (SELECT 1 FROM sqluice_jobs WHERE status = 'pending' AND queue = ?2) THEN NULL ELSE ?1 END,
        ?2, ?3, 'running', ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?14, 1, ?13, ?12, ?14)
