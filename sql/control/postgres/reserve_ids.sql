SELECT setval(CAST(pg_get_serial_sequence($1, 'id') AS regclass), $2)
