INSERT INTO jobs (kind, payload) VALUES ('block', '{}') RETURNING id
