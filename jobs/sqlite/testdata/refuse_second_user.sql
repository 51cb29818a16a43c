CREATE UNIQUE INDEX app_one_of_a_user ON sqluice_jobs (user_id)
