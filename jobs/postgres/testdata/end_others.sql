SELECT count(pg_terminate_backend(a.pid, 60000)) FROM pg_stat_activity AS a
WHERE a.datname = current_database() AND a.pid <> pg_backend_pid()
