INSERT INTO sqluice_schema_versions (version, runs_from) VALUES ($1, $2) ON CONFLICT DO NOTHING
