SELECT current_setting('synchronous_standby_names') <> '' AND current_setting('synchronous_commit') NOT IN ('off', 'local'),
       COALESCE(CAST(extract(epoch FROM pg_stat_get_bgwriter_stat_reset_time()) AS TEXT), '') || ' ' || CASE WHEN pg_is_in_recovery() THEN '' ELSE left(pg_walfile_name(pg_current_wal_lsn()), 8) END
