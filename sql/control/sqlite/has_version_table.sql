SELECT COUNT(*) FROM sqlite_schema WHERE type = 'table' AND name = 'sqluice_goose_version'
