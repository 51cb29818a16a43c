SELECT count(*) FROM pg_tables WHERE schemaname = 'public'
