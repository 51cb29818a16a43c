SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2)
