SELECT COUNT(*) FROM sqlite_schema WHERE type = 'table' AND name = 'jobs'
