SELECT w.lock_key FROM sqluice_workers AS w WHERE w.ended_at IS NULL
