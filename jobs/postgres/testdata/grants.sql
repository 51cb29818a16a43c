-- As the role that migrates, after each migration: no harm when it is there already.
GRANT USAGE ON SCHEMA queue TO queue_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON queue.jobs, queue.workers TO queue_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON queue.job_counts, queue.job_changes, queue.job_history TO queue_worker;
GRANT SELECT, INSERT, UPDATE ON queue.queues TO queue_worker;
GRANT SELECT, INSERT, DELETE ON queue.job_errors, queue.job_audit, queue.sensitive_fields TO queue_worker;
GRANT SELECT ON queue.moves, queue.sqluice_goose_version TO queue_worker;
