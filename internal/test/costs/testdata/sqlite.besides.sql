-- Of the same kind and queue, and before the wanted jobs by priority and time.
INSERT INTO sqluice_jobs (kind, payload, status, priority, run_after, created_at, updated_at, finished_at)
WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000)
SELECT 'noop', '{"n":100000,"pad":"0123456789012345678901234567890123456789012345678901234567890123456789"}',
       CASE i % 2 WHEN 0 THEN 'done' ELSE 'scheduled' END, 32767,
       CASE i % 2 WHEN 0 THEN 0 ELSE 253402300799999999 END, 100000000000000 + i, 100000000000000 + i,
       CASE i % 2 WHEN 0 THEN 100000000000000 + i END
FROM n;
