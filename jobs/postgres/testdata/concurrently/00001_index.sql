-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX CONCURRENTLY jobs_test ON sqluice_jobs (created_at);

-- +goose Down
DROP INDEX CONCURRENTLY jobs_test;
