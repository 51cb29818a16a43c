SELECT CAST(COUNT(pg_cancel_backend(pid)) AS integer) FROM pg_stat_activity WHERE wait_event = 'SyncRep'
