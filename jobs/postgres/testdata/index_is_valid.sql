SELECT i.indisvalid FROM pg_index AS i WHERE i.indexrelid = CAST('jobs_test' AS regclass)
