INSERT INTO sqluice_schema_versions (version, runs_from) VALUES (?, ?) ON CONFLICT DO NOTHING
