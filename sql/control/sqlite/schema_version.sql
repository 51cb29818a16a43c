SELECT COALESCE(MAX(version_id), 0) FROM sqluice_migrations
