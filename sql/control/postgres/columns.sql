-- The columns of the queue's tables, without generated ones, as a JSON list of [table, column].
SELECT COALESCE(CAST(json_agg(json_build_array(c.relname, a.attname)) AS TEXT), '[]') FROM pg_class AS c
JOIN pg_namespace AS n ON n.oid = c.relnamespace AND n.nspname = $1
JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
WHERE c.relkind IN ('r', 'p') AND c.relname LIKE 'sqluice!_%' ESCAPE '!'
