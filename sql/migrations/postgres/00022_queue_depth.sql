-- +goose Up
-- The backlog of a queue can be bounded too.
ALTER TABLE sqluice_limits DROP CONSTRAINT sqluice_limits_check3,
    ADD CONSTRAINT sqluice_limits_of_a_whole CHECK (
        scope = 'kind' OR limit_key = '' AND weight = 0 AND ordered = '' AND (scope = 'queue' OR depth = 0));

-- A page of the lanes that wait for the end of a job, and those of a queue.
DROP INDEX sqluice_lanes_parked;
CREATE INDEX sqluice_lanes_parked ON sqluice_lanes (queue, kind, limit_key) WHERE ready_at IS NULL;

-- A program of an earlier version would take a queue with a bounded backlog for one with a limit, and its jobs would wait for a claim.
INSERT INTO sqluice_schema_versions (version, runs_from) VALUES (22, 22);

-- +goose Down
DELETE FROM sqluice_schema_versions WHERE version = 22;
DROP INDEX sqluice_lanes_parked;
CREATE INDEX sqluice_lanes_parked ON sqluice_lanes (kind, limit_key, queue) WHERE ready_at IS NULL;
DELETE FROM sqluice_limits WHERE scope = 'queue' AND running = 0 AND starts = 0;
UPDATE sqluice_limits SET depth = 0, on_full = '' WHERE scope = 'queue';
ALTER TABLE sqluice_limits DROP CONSTRAINT sqluice_limits_of_a_whole,
    ADD CONSTRAINT sqluice_limits_check3 CHECK (scope = 'kind' OR limit_key = '' AND weight = 0 AND ordered = '' AND depth = 0);
