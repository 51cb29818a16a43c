SELECT CAST(COUNT(*) AS integer) FROM pg_stat_activity WHERE wait_event = 'SyncRep'
