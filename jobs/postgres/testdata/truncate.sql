TRUNCATE queue.sqluice_jobs
