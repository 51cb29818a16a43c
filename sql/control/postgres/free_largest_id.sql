SELECT setval(pg_get_serial_sequence('sqluice_jobs', 'id'), (SELECT COALESCE(MAX(id), 1) FROM sqluice_jobs))
