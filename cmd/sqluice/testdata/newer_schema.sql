BEGIN;
INSERT INTO sqluice_schema_versions (version, runs_from) VALUES (999, 999);
INSERT INTO sqluice_migrations (version_id, is_applied) VALUES (999, true);
COMMIT;
