TRUNCATE jobs, job_errors, workers, queues, moves, job_audit, sensitive_fields
