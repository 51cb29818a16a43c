SELECT CAST(pg_logical_emit_message(true, 'sqluice', '') AS TEXT),
       NOT pg_is_in_recovery() AND COALESCE(CAST(extract(epoch FROM pg_stat_get_bgwriter_stat_reset_time()) AS TEXT), '') = $1
