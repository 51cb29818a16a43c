SELECT COALESCE(MAX(name = 'sqluice_migrations'), false), COALESCE(MAX(name = 'sqluice_jobs'), false),
       COALESCE(MAX(name = 'sqluice_goose_version'), false), COALESCE(MAX(name = 'sqluice_schema_versions'), false)
FROM sqlite_schema WHERE type = 'table'
    AND name IN ('sqluice_migrations', 'sqluice_jobs', 'sqluice_goose_version', 'sqluice_schema_versions')
