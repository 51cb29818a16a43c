-- More failed jobs than the report looks at; the first ones are of another kind.
INSERT INTO sqluice_jobs (kind, status, attempt, run_after, created_at, updated_at, started_at, finished_at, last_error)
WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 2005)
SELECT CASE WHEN n <= 5 THEN 'rare' ELSE 'bad' END, 'failed', 1, 0, t, t, t, t, 'it is bad' FROM (SELECT n, 100000000000000 + n AS t FROM numbers);
