INSERT INTO sqluice_jobs (kind, status, attempt, run_after, created_at, updated_at, finished_at)
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT n.i + 1 FROM n WHERE n.i < ?1)
SELECT 'k', CASE WHEN n.i % 10 = 0 THEN 'failed' ELSE 'done' END, 1, 0, 0, 0, 0 FROM n
