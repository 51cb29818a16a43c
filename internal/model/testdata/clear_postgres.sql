TRUNCATE jobs, job_errors, queues, workers, job_counts, job_changes, job_history;
