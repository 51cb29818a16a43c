SELECT setval(pg_get_serial_sequence('sqluice_jobs', 'id'), (SELECT COALESCE(MAX(id), 1) FROM sqluice_jobs WHERE id < 4503599627370496))
