SELECT COUNT(*) FROM sqluice_job_changes WHERE kind = 'KIND'
