UPDATE sqlite_sequence SET seq = (SELECT COALESCE(MAX(id), 0) FROM sqluice_workers) WHERE name = 'sqluice_workers'
