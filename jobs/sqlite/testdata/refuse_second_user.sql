CREATE UNIQUE INDEX app_one_of_a_user ON jobs (user_id)
