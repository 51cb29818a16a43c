SELECT count(*) FROM pg_stat_activity AS a WHERE a.datname = current_database() AND a.wait_event_type = 'Lock'
