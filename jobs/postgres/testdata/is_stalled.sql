SELECT EXISTS (
    SELECT 1 FROM pg_stat_activity AS a
    WHERE a.datname = current_database() AND a.application_name = 'stalls' AND a.wait_event_type = 'Lock' AND a.wait_event = 'advisory'
)
