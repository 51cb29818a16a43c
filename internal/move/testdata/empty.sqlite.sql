DELETE FROM jobs;
DELETE FROM job_errors;
DELETE FROM workers;
DELETE FROM queues;
DELETE FROM moves;
DELETE FROM job_audit;
DELETE FROM sensitive_fields;
