-- Both tables in one snapshot.
SELECT COALESCE((SELECT string_agg(CAST(m.version_id AS TEXT), ',') FROM sqluice_migrations AS m WHERE m.version_id > 0), ''),
       COALESCE((SELECT string_agg(v.version || ':' || v.runs_from, ',') FROM sqluice_schema_versions AS v), ''),
       CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)
