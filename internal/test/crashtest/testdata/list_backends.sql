SELECT a.pid FROM pg_stat_activity AS a WHERE a.datname = $1 AND a.application_name = 'sqluice' ORDER BY a.pid
