SELECT COALESCE(txid_status($1), 'forgotten'), COALESCE(CAST(extract(epoch FROM pg_stat_get_bgwriter_stat_reset_time()) AS TEXT), '') = $2
