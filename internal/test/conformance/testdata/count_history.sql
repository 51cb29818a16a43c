SELECT COUNT(*) FROM sqluice_job_history
