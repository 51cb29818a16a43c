SELECT n.nspname FROM pg_namespace AS n WHERE n.nspname LIKE 'sqluice!_bench!_%' ESCAPE '!';
