SELECT w.lock_key FROM workers AS w WHERE w.ended_at IS NULL
