SELECT c.relname::text FROM pg_class AS c
WHERE c.relkind = 'r' AND c.relname LIKE 'sqluice%'
  AND query_to_xml(format('SELECT * FROM %s', c.oid::regclass), true, true, '')::text LIKE '%' || $1::text || '%';
