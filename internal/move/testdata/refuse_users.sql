CREATE UNIQUE INDEX refuse_users ON sqluice_jobs (user_id)
