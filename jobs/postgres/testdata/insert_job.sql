INSERT INTO sqluice_jobs (kind) VALUES ($1) RETURNING id
