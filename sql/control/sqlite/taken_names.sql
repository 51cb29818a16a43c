SELECT COALESCE(group_concat(n.name, ', '), '') FROM (
    SELECT s.name FROM sqlite_schema AS s
    WHERE s.name LIKE 'sqluice!_%' ESCAPE '!' AND s.tbl_name <> 'sqluice_migrations' ORDER BY s.name
) AS n
