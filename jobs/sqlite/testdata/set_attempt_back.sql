UPDATE sqluice_jobs SET status = 'pending', attempt = 0 WHERE id = ?1
