SELECT pg_terminate_backend(CAST(CAST($1 AS text) AS integer))
