UPDATE sqluice_jobs SET start_by = 100000000000000 WHERE kind = 'many' RETURNING id
