-- The values of a column of a table, as a JSON list of [id, value], for some rows after an id. A value that is JSON itself is its text.
SELECT COALESCE(CAST(json_agg(json_build_array(r.id, CASE WHEN CAST(pg_typeof(r.@column) AS TEXT) IN ('json', 'jsonb')
    THEN to_json(CAST(r.@column AS TEXT)) ELSE to_json(r.@column) END) ORDER BY r.id) AS TEXT), '[]')
FROM (SELECT t.id, t.@column FROM @table AS t WHERE t.id > $1 ORDER BY t.id LIMIT $2) AS r
