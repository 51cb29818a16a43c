SELECT COALESCE(string_agg(DISTINCT CAST(n.name AS TEXT), ', '), '') FROM (
    SELECT c.relname, c.relnamespace FROM pg_class AS c
    UNION ALL SELECT t.typname, t.typnamespace FROM pg_type AS t
    UNION ALL SELECT p.proname, p.pronamespace FROM pg_proc AS p
) AS n (name, place)
JOIN pg_namespace AS s ON s.oid = n.place AND s.nspname = COALESCE(NULLIF($1, ''), current_schema())
WHERE n.name LIKE 'sqluice!_%' ESCAPE '!' AND n.name NOT LIKE 'sqluice!_migrations%' ESCAPE '!'
