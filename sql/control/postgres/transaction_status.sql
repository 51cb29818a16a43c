SELECT CASE WHEN pg_is_in_recovery() THEN 'standby' ELSE COALESCE(txid_status($1), 'forgotten') END,
       COALESCE(CAST(extract(epoch FROM pg_stat_get_bgwriter_stat_reset_time()) AS TEXT), '') || ' ' || CASE WHEN pg_is_in_recovery() THEN '' ELSE left(pg_walfile_name(pg_current_wal_lsn()), 8) END = $2
