SELECT d.file FROM pragma_database_list AS d WHERE EXISTS (SELECT 1 FROM pragma_table_list('sqluice_jobs') AS t WHERE t.schema = d.name)
ORDER BY d.seq LIMIT 1
