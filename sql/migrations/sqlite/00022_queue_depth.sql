-- +goose Up
-- The backlog of a queue can be bounded too. SQLite changes no CHECK. Its documentation names this way for a CHECK that becomes wider,
-- whose rows stay as they are.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql,
    'weight = 0 AND ordered = '''' AND depth = 0)',
    'weight = 0 AND ordered = '''' AND (scope = ''queue'' OR depth = 0))')
WHERE type = 'table' AND name = 'sqluice_limits';
PRAGMA writable_schema = RESET;

INSERT INTO sqluice_schema_versions (version, runs_from) VALUES (22, 21);

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
