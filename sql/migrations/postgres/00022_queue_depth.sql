-- +goose Up
-- The backlog of a queue can be bounded too.
ALTER TABLE sqluice_limits DROP CONSTRAINT sqluice_limits_check3,
    ADD CONSTRAINT sqluice_limits_scope_has CHECK (
        scope = 'kind' OR limit_key = '' AND weight = 0 AND ordered = '' AND (scope = 'queue' OR depth = 0));

INSERT INTO sqluice_schema_versions (version, runs_from) VALUES (22, 21);

-- +goose Down
DELETE FROM sqluice_schema_versions WHERE version = 22;
DELETE FROM sqluice_limits WHERE scope = 'queue' AND running = 0 AND starts = 0;
UPDATE sqluice_limits SET depth = 0, on_full = '' WHERE scope = 'queue';
ALTER TABLE sqluice_limits DROP CONSTRAINT sqluice_limits_scope_has,
    ADD CONSTRAINT sqluice_limits_check3 CHECK (scope = 'kind' OR limit_key = '' AND weight = 0 AND ordered = '' AND depth = 0);
