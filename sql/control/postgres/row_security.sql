SELECT COALESCE(string_agg(CAST(c.relname AS TEXT), ', ' ORDER BY c.relname), ''), current_user FROM pg_class AS c
WHERE c.relnamespace = (SELECT v.relnamespace FROM pg_class AS v WHERE v.oid = to_regclass($1))
  AND c.relkind IN ('r', 'p') AND c.relname LIKE 'sqluice!_%' ESCAPE '!' AND row_security_active(c.oid)
