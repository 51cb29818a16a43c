SELECT CAST(pg_logical_emit_message(true, 'sqluice', '') AS TEXT) || set_config('client_min_messages', 'warning', true) || set_config('synchronous_commit', 'on', true),
       NOT pg_is_in_recovery() AND COALESCE(CAST(extract(epoch FROM pg_stat_get_bgwriter_stat_reset_time()) AS TEXT), '') || ' ' || CASE WHEN pg_is_in_recovery() THEN '' ELSE left(pg_walfile_name(pg_current_wal_lsn()), 8) END = $1
