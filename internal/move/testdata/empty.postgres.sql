TRUNCATE sqluice_jobs, sqluice_job_errors, sqluice_workers, sqluice_queues, sqluice_moves, sqluice_job_audit, sqluice_sensitive_fields, sqluice_schedules, sqluice_schedule_ticks
