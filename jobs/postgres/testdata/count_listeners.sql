SELECT count(*) FROM pg_stat_activity AS a
WHERE a.datname = current_database() AND a.state = 'idle' AND a.query LIKE 'LISTEN %'
