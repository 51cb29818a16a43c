INSERT INTO sqluice_migrations (version_id, is_applied) VALUES ($1, true)
