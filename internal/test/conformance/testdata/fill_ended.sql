UPDATE sqluice_jobs SET payload = '{"again":1}' WHERE status = 'done' RETURNING id
