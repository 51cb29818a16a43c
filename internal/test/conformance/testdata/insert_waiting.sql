INSERT INTO sqluice_jobs (kind, limit_key, status) VALUES ('k', 'KEY', 'waiting') RETURNING id
