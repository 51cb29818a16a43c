SELECT to_regclass($1) IS NOT NULL, CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT),
       COALESCE(CASE WHEN $2 = '' THEN current_schema() IS NOT NULL
                ELSE (SELECT has_schema_privilege(n.oid, 'USAGE') FROM pg_namespace AS n WHERE n.nspname = $2) END, true),
       current_user
