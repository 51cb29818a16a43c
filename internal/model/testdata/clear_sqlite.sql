DELETE FROM sqluice_jobs;
DELETE FROM sqluice_job_errors;
DELETE FROM sqluice_queues;
DELETE FROM sqluice_kind_pauses;
DELETE FROM sqluice_workers;
DELETE FROM sqluice_job_counts;
DELETE FROM sqluice_job_changes;
DELETE FROM sqluice_job_history;
