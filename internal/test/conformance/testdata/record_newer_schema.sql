INSERT INTO sqluice_schema_versions (version, runs_from) VALUES (NEWER, RUNS_FROM)
