SELECT c.relname::text FROM pg_class AS c
WHERE c.relkind IN ('r', 'i', 't') AND (c.relname LIKE 'sqluice%' OR c.relname = 'pg_statistic' OR c.relkind = 't')
  AND position(convert_to($1, 'UTF8') IN pg_read_binary_file(pg_relation_filepath(c.oid::regclass))) > 0
UNION ALL
SELECT 'the statistics of ' || s.tablename || '.' || s.attname FROM pg_stats AS s
WHERE s.tablename LIKE 'sqluice%' AND (s.most_common_vals::text LIKE '%' || $1 || '%' OR s.histogram_bounds::text LIKE '%' || $1 || '%');
