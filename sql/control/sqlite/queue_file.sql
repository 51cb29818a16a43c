SELECT d.file, sqlite_source_id() || ' ' || (SELECT group_concat(c.compile_options) FROM pragma_compile_options AS c) FROM pragma_database_list AS d
WHERE EXISTS (SELECT 1 FROM pragma_table_list('sqluice_jobs') AS t WHERE t.schema = d.name) ORDER BY d.seq LIMIT 1
