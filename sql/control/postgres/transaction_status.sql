SELECT CASE WHEN pg_is_in_recovery() THEN 'standby' ELSE COALESCE(txid_status($1), 'forgotten') END,
       COALESCE(CAST(extract(epoch FROM pg_stat_get_bgwriter_stat_reset_time()) AS TEXT), '') = $2,
       COALESCE((SELECT MAX(a.wait_event) FROM pg_stat_activity AS a WHERE CAST(CAST(a.backend_xid AS TEXT) AS BIGINT) = $1 % 4294967296), '')
