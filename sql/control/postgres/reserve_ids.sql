SELECT setval(s.id, GREATEST($2, COALESCE(pg_sequence_last_value(s.id), 1)))
FROM (SELECT CAST(pg_get_serial_sequence($1, 'id') AS regclass) AS id) AS s
