INSERT INTO sqluice_jobs (kind, limit_key, status) VALUES ('k', 't', 'pending') RETURNING id
