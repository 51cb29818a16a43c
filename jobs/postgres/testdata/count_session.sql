SELECT COUNT(*) FROM pg_stat_activity WHERE pid = $1
