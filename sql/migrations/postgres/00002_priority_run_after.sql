-- +goose Up
-- Which job runs first, and not before which time. A job whose time has not come is scheduled.
ALTER TABLE sqluice_jobs ADD COLUMN priority BIGINT NOT NULL DEFAULT 0;  -- higher runs first
ALTER TABLE sqluice_jobs ADD COLUMN run_after BIGINT NOT NULL DEFAULT 0; -- 0 is at once
UPDATE sqluice_jobs SET run_after = created_at;

DROP INDEX sqluice_jobs_claim;
CREATE INDEX sqluice_jobs_claim ON sqluice_jobs (priority DESC, run_after, id) WHERE status = 'pending';
CREATE INDEX sqluice_jobs_due ON sqluice_jobs (run_after, id) WHERE status = 'scheduled';

-- +goose Down
DROP INDEX sqluice_jobs_due;
DROP INDEX sqluice_jobs_claim;
CREATE INDEX sqluice_jobs_claim ON sqluice_jobs (id) WHERE status = 'pending';
UPDATE sqluice_jobs SET status = 'pending' WHERE status = 'scheduled';
ALTER TABLE sqluice_jobs DROP COLUMN run_after;
ALTER TABLE sqluice_jobs DROP COLUMN priority;
