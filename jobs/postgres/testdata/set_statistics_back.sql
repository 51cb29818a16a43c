SELECT CAST(pg_stat_reset_shared('bgwriter') AS TEXT)
