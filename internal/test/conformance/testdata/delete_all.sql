DELETE FROM sqluice_jobs
