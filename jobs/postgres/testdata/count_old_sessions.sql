SELECT count(*) FROM pg_stat_activity AS a WHERE a.datname = current_database() AND a.application_name = 'sqluice' AND a.state_change < clock_timestamp() - interval '1200 ms'
