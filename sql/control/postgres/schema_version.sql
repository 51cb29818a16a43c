SELECT COALESCE(string_agg(CAST(m.version_id AS TEXT), ','), ''), '', CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)
FROM sqluice_migrations AS m WHERE m.version_id > 0
