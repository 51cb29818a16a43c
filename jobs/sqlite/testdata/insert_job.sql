INSERT INTO sqluice_jobs (kind, payload) VALUES (?1, ?2) RETURNING id
