SELECT set_config('idle_session_timeout', '0', false)
WHERE COALESCE(current_setting('idle_session_timeout', true), '0') <> '0' AND CAST($1 AS BIGINT) IN (0, pg_backend_pid())
