SELECT set_config('lock_timeout', '50ms', true)
