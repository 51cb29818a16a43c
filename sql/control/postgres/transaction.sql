SELECT txid_current(), CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT),
       set_config('enable_seqscan', set_config('enable_bitmapscan', 'off', true), true), set_config('jit', 'off', true),
       set_config('lock_timeout', '5s', true), set_config('idle_in_transaction_session_timeout', '10s', true),
       set_config('statement_timeout', '35s', true) || set_config('client_min_messages', 'warning', true),
       current_setting('synchronous_standby_names') <> '' AND current_setting('synchronous_commit') NOT IN ('off', 'local'),
       COALESCE(CAST(extract(epoch FROM pg_stat_get_bgwriter_stat_reset_time()) AS TEXT), '') || ' ' || CASE WHEN pg_is_in_recovery() THEN '' ELSE left(pg_walfile_name(pg_current_wal_lsn()), 8) END
WHERE CASE WHEN current_setting('transaction_timeout', true) IS NULL THEN true ELSE set_config('transaction_timeout', '0', true) = '0' END
