DROP TABLE queue.sqluice_jobs
