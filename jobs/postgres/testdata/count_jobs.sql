SELECT count(*) FROM sqluice_jobs
