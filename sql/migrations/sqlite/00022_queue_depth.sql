-- +goose Up
-- The backlog of a queue can be bounded too. SQLite changes no CHECK. Its documentation names this way for a CHECK that becomes wider,
-- whose rows stay as they are. Other connections read the schema again because of the index after it.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql,
    'weight = 0 AND ordered = '''' AND depth = 0)',
    'weight = 0 AND ordered = '''' AND (scope = ''queue'' OR depth = 0))')
WHERE type = 'table' AND name = 'sqluice_limits';
PRAGMA writable_schema = RESET;

-- A page of the lanes that wait for the end of a job, and those of a queue.
DROP INDEX sqluice_lanes_parked;
CREATE INDEX sqluice_lanes_parked ON sqluice_lanes (queue, kind, limit_key) WHERE ready_at IS NULL;

-- A program of an earlier version would take a queue with a bounded backlog for one with a limit, and its jobs would wait for a claim.
INSERT INTO sqluice_schema_versions (version, runs_from) VALUES (22, 22);

-- +goose Down
DELETE FROM sqluice_schema_versions WHERE version = 22;
DELETE FROM sqluice_limits WHERE scope = 'queue' AND running = 0 AND starts = 0;
UPDATE sqluice_limits SET depth = 0, on_full = '' WHERE scope = 'queue';
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql,
    'weight = 0 AND ordered = '''' AND (scope = ''queue'' OR depth = 0))',
    'weight = 0 AND ordered = '''' AND depth = 0)')
WHERE type = 'table' AND name = 'sqluice_limits';
PRAGMA writable_schema = RESET;
DROP INDEX sqluice_lanes_parked;
CREATE INDEX sqluice_lanes_parked ON sqluice_lanes (kind, limit_key, queue) WHERE ready_at IS NULL;
