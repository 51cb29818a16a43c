INSERT INTO sqluice_jobs (kind, payload) SELECT 'chaos', json_object('key', 'KEY/' || e.value) FROM json_each('[0, 1, 2]') AS e RETURNING id, payload
