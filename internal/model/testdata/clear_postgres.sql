TRUNCATE sqluice_jobs, sqluice_job_errors, sqluice_queues, sqluice_kind_pauses, sqluice_unique_keys, sqluice_workers, sqluice_job_counts, sqluice_job_changes, sqluice_job_history;
