-- The columns of the queue's tables, without generated ones, as a JSON list of [table, column].
SELECT json_group_array(json_array(s.name, c.name)) FROM sqlite_schema AS s, pragma_table_info(s.name) AS c
WHERE s.type = 'table' AND s.name LIKE 'sqluice!_%' ESCAPE '!'
