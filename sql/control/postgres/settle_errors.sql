LOCK TABLE sqluice_job_errors IN SHARE MODE
