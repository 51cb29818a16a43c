SELECT EXISTS (SELECT 1 FROM pg_namespace AS n WHERE n.nspname = $1)
