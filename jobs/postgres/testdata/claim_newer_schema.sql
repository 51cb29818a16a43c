WITH recorded AS (INSERT INTO sqluice_schema_versions (version, runs_from) VALUES ($1, $1))
INSERT INTO sqluice_migrations (version_id, is_applied) VALUES ($1, true)
