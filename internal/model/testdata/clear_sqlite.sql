DELETE FROM jobs;
DELETE FROM job_errors;
DELETE FROM queues;
DELETE FROM workers;
DELETE FROM job_counts;
DELETE FROM job_changes;
DELETE FROM job_history;
