SELECT current_setting('transaction_isolation'), current_setting('client_encoding'),
       CASE WHEN pg_is_in_recovery() THEN '' ELSE CAST(extract(epoch FROM pg_postmaster_start_time()) AS TEXT) END,
       CAST(current_database() AS TEXT), COALESCE(host(inet_server_addr()), 'localhost') || ':' || current_setting('port'),
       CASE WHEN current_setting('synchronous_standby_names') <> ''
           THEN CAST(pg_logical_emit_message(true, 'sqluice', '') AS TEXT) || set_config('client_min_messages', 'warning', true) ELSE '' END,
       CAST(pg_notify($1, $2) AS TEXT)
