SELECT COUNT(*) FROM sqluice_jobs
