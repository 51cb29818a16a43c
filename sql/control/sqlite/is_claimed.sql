SELECT EXISTS (
    SELECT 1 FROM sqluice_jobs WHERE id = ?1 AND kind = ?2 AND queue = ?3 AND payload = ?4 AND priority = ?5 AND run_after = ?6 AND max_attempts = ?7 AND timeout = ?8
      AND unique_key IS NULL AND request_id IS NULL AND user_id IS ?9 AND tags IS ?10 AND metadata IS ?11 AND worker_id = ?12 AND attempt = 1 AND status = 'running')
