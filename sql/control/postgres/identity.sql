SELECT CASE WHEN pg_is_in_recovery() THEN '' ELSE CAST(extract(epoch FROM pg_postmaster_start_time()) AS TEXT) END,
       CAST(current_database() AS TEXT), COALESCE(host(inet_server_addr()), 'localhost') || ':' || current_setting('port')
