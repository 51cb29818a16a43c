WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 450)
INSERT INTO sqluice_schedules (name, kind, spec) SELECT 'new ' || i, 'k', '0 0 1 1 *' FROM n RETURNING 1
