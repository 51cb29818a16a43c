SELECT current_setting('synchronous_standby_names') <> '', COALESCE(CAST(extract(epoch FROM pg_stat_get_bgwriter_stat_reset_time()) AS TEXT), '')
