CREATE TABLE sqluice_jobs (id BIGINT)
