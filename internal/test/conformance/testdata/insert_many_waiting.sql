INSERT INTO sqluice_jobs (kind, limit_key, status) SELECT 'k', 't' || n.i, 'waiting' FROM
    (WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < HOW_MANY) SELECT i FROM n) AS n RETURNING id;
