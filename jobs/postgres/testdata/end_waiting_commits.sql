SELECT CAST(COUNT(pg_terminate_backend(pid)) AS integer) FROM pg_stat_activity WHERE wait_event = 'SyncRep'
