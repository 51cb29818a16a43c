INSERT INTO jobs (kind, payload) VALUES (?1, ?2) RETURNING id
