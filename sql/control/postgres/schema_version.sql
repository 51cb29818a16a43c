SELECT COALESCE(MAX(version_id), 0), CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT) FROM sqluice_migrations
