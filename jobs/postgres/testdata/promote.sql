SELECT pg_promote()
