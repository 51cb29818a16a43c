SELECT COALESCE(MAX(a.wait_event), '') FROM pg_stat_activity AS a WHERE CAST(CAST(a.backend_xid AS TEXT) AS BIGINT) = $1 % 4294967296
