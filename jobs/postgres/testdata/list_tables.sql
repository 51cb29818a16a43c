SELECT CAST(t.tablename AS TEXT) FROM pg_tables AS t WHERE t.schemaname = 'public'
