-- +goose Up
ALTER TABLE sqluice_jobs ADD COLUMN prefetched BIGINT;
COMMENT ON COLUMN sqluice_jobs.prefetched IS 'by which worker: the attempt that was claimed with others before a slot was free for each; '
    'a running job may not have started';

INSERT INTO sqluice_schema_versions (version, runs_from) VALUES (20, 18);

-- +goose Down
DELETE FROM sqluice_schema_versions WHERE version = 20;
ALTER TABLE sqluice_jobs DROP COLUMN prefetched;
