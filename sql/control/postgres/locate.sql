SELECT ARRAY(
           SELECT CAST(n.nspname AS TEXT) FROM unnest(CASE WHEN CAST($1 AS TEXT) = '' THEN current_schemas(false) ELSE ARRAY[CAST($1 AS name)] END) WITH ORDINALITY AS p (name, i)
           CROSS JOIN pg_namespace AS n CROSS JOIN pg_class AS c
           WHERE n.nspname = p.name AND c.relnamespace = n.oid AND c.relname = 'sqluice_jobs' ORDER BY p.i
       ),
       ARRAY(
           SELECT CAST(n.nspname AS TEXT) FROM unnest(CASE WHEN CAST($1 AS TEXT) = '' THEN current_schemas(false) ELSE ARRAY[CAST($1 AS name)] END) WITH ORDINALITY AS p (name, i)
           CROSS JOIN pg_namespace AS n CROSS JOIN pg_class AS c
           WHERE n.nspname = p.name AND c.relnamespace = n.oid AND c.relname = 'sqluice_migrations' ORDER BY p.i
       ),
       ARRAY(
           SELECT CAST(n.nspname AS TEXT) FROM unnest(CASE WHEN CAST($1 AS TEXT) = '' THEN current_schemas(false) ELSE ARRAY[CAST($1 AS name)] END) WITH ORDINALITY AS p (name, i)
           CROSS JOIN pg_namespace AS n CROSS JOIN pg_class AS c
           WHERE n.nspname = p.name AND c.relnamespace = n.oid AND c.relname = 'sqluice_goose_version' ORDER BY p.i
       ),
       COALESCE(CAST(current_schema() AS TEXT), ''),
       COALESCE(CASE WHEN CAST($1 AS TEXT) = '' THEN current_schema() IS NOT NULL
                ELSE (SELECT has_schema_privilege(n.oid, 'USAGE') FROM pg_namespace AS n WHERE n.nspname = CAST($1 AS TEXT)) END, true),
       current_setting('search_path'),
       EXISTS (
           SELECT 1 FROM pg_namespace AS n CROSS JOIN unnest(string_to_array(current_setting('search_path'), ',')) AS p (name)
           WHERE n.nspname = REPLACE(TRIM(BOTH ' "' FROM p.name), '$user', CAST(current_user AS TEXT))
       ),
       CAST(current_user AS TEXT), CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT),
       CASE WHEN pg_is_in_recovery() THEN '' ELSE CAST(extract(epoch FROM pg_postmaster_start_time()) AS TEXT) END,
       CAST(current_database() AS TEXT), COALESCE(host(inet_server_addr()), 'localhost') || ':' || current_setting('port')
