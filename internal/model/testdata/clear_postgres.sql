TRUNCATE jobs, job_errors, queues, workers;
