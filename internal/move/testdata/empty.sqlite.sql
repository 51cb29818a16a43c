DELETE FROM sqluice_jobs;
DELETE FROM sqluice_job_errors;
DELETE FROM sqluice_workers;
DELETE FROM sqluice_queues;
DELETE FROM sqluice_moves;
DELETE FROM sqluice_job_audit;
DELETE FROM sqluice_sensitive_fields;
