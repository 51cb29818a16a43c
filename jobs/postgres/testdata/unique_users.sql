CREATE UNIQUE INDEX unique_users ON sqluice_jobs (user_id) WHERE user_id IS NOT NULL
