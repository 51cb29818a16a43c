-- +goose Up
-- Of many jobs that fall due at the same time the first ones by id are claimable first.
DROP INDEX jobs_due;
CREATE INDEX jobs_due ON jobs (run_after, id) WHERE status = 'scheduled';

-- +goose Down
DROP INDEX jobs_due;
CREATE INDEX jobs_due ON jobs (run_after) WHERE status = 'scheduled';
