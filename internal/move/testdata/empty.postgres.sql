TRUNCATE jobs, job_errors, workers, queues, moves
