DELETE FROM jobs;
DELETE FROM job_errors;
DELETE FROM queues;
DELETE FROM workers;
