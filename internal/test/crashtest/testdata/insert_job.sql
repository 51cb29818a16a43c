INSERT INTO sqluice_jobs (kind, payload) VALUES ('block', '{}') RETURNING id
