-- As the role that migrates, after each migration: no harm when it is there already.
GRANT USAGE ON SCHEMA queue TO queue_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON queue.sqluice_jobs, queue.sqluice_workers TO queue_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON queue.sqluice_job_counts, queue.sqluice_job_changes, queue.sqluice_job_history TO queue_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON queue.sqluice_refusals, queue.sqluice_schedules, queue.sqluice_schedule_ticks, queue.sqluice_unique_keys, queue.sqluice_pauses, queue.sqluice_retentions, queue.sqluice_declarations, queue.sqluice_limits, queue.sqluice_limit_keys, queue.sqluice_lanes TO queue_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON queue.sqluice_job_errors TO queue_worker;
GRANT SELECT, INSERT, DELETE ON queue.sqluice_job_audit, queue.sqluice_sensitive_fields TO queue_worker;
GRANT SELECT ON queue.sqluice_moves, queue.sqluice_migrations, queue.sqluice_schema_versions, queue.sqluice_kind_settings, queue.sqluice_declared_limits TO queue_worker;
