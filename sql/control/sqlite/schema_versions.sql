-- Both tables in one snapshot.
SELECT COALESCE((SELECT group_concat(m.version_id) FROM sqluice_migrations AS m WHERE m.version_id > 0), ''),
       COALESCE((SELECT group_concat(v.version || ':' || v.runs_from) FROM sqluice_schema_versions AS v), '')
