SELECT EXISTS (
    SELECT 1 FROM pg_stat_activity AS a
    WHERE a.datname = current_database() AND a.query LIKE '%pg_try_advisory_lock%' AND a.pid <> pg_backend_pid()
      AND clock_timestamp() - a.backend_start > interval '1s'
)
