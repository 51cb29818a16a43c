SET deadlock_timeout = '1h'
