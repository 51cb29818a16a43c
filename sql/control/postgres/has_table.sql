SELECT to_regclass($1) IS NOT NULL, CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)
