-- Each table, index, trigger and view of the queue, except for goose's table.
SELECT s.type, s.tbl_name, s.name, s.sql FROM sqlite_schema AS s
WHERE s.sql IS NOT NULL AND s.tbl_name LIKE 'sqluice!_%' ESCAPE '!' AND s.tbl_name <> 'sqluice_migrations' ORDER BY s.name
