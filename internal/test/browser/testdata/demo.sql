-- The demo's jobs have been there for a while.
UPDATE sqluice_jobs SET created_at = created_at - id * 17000000, run_after = run_after - id * 17000000 WHERE status IN ('done', 'failed');
UPDATE sqluice_jobs SET finished_at = created_at + 1700000 + id * 13000, started_at = created_at + 900000, updated_at = created_at + 1700000 + id * 13000
WHERE status IN ('done', 'failed');
UPDATE sqluice_jobs SET created_at = created_at - 250000000, run_after = run_after - 250000000, updated_at = updated_at - 240000000 - id * 100000
WHERE status = 'pending';
UPDATE sqluice_jobs SET created_at = created_at - 190000000, started_at = started_at - 185000000 WHERE status = 'running';
UPDATE sqluice_job_errors
SET started_at = (SELECT j.started_at FROM sqluice_jobs AS j WHERE j.id = sqluice_job_errors.job_id) + attempt * (attempt - 1) * 9000000,
    ended_at = (SELECT j.started_at FROM sqluice_jobs AS j WHERE j.id = sqluice_job_errors.job_id) + attempt * (attempt - 1) * 9000000 + 310000
WHERE job_id IN (SELECT j.id FROM sqluice_jobs AS j WHERE j.status = 'failed');
UPDATE sqluice_jobs
SET started_at = (SELECT MAX(e.started_at) FROM sqluice_job_errors AS e WHERE e.job_id = sqluice_jobs.id),
    finished_at = (SELECT MAX(e.ended_at) FROM sqluice_job_errors AS e WHERE e.job_id = sqluice_jobs.id),
    updated_at = (SELECT MAX(e.ended_at) FROM sqluice_job_errors AS e WHERE e.job_id = sqluice_jobs.id)
WHERE status = 'failed';
