SELECT d.file, sqlite_source_id() || sqlite_compileoption_used('DEFAULT_MEMSTATUS=0') || sqlite_compileoption_used('DISABLE_INTRINSIC') || sqlite_compileoption_used('ENABLE_GEOPOLY') || sqlite_compileoption_used('ENABLE_MEMORY_MANAGEMENT') || sqlite_compileoption_used('ENABLE_RBU') || sqlite_compileoption_used('ENABLE_SESSION')
FROM pragma_database_list AS d WHERE EXISTS (SELECT 1 FROM pragma_table_list('sqluice_jobs') AS t WHERE t.schema = d.name)
ORDER BY d.seq LIMIT 1
