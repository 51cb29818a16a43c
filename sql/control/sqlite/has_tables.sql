SELECT COALESCE(MAX(name = 'sqluice_goose_version'), false), COALESCE(MAX(name = 'sqluice_jobs'), false)
FROM sqlite_schema WHERE type = 'table' AND name IN ('sqluice_goose_version', 'sqluice_jobs')
