INSERT INTO sqluice_migrations (version_id, is_applied)
SELECT NEWER, m.is_applied FROM sqluice_migrations AS m WHERE m.version_id = 1
