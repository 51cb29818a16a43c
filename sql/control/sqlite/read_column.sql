-- The values of a column of a table, as a JSON list of [id, value], for some rows after an id.
SELECT json_group_array(json_array(r.id, CASE typeof(r.@column) WHEN 'real' THEN printf('%!.17g', r.@column) ELSE r.@column END))
FROM (SELECT t.id, t.@column FROM @table AS t WHERE t.id > $1 ORDER BY t.id LIMIT $2) AS r
