-- Years of work, as an operator's queue has it: :rows jobs of 20 kinds in 5 queues over 30 days, most of them done; and what is
-- kept of their history.
INSERT INTO sqluice_jobs (kind, queue, payload, status, attempt, worker_id, run_after, created_at, updated_at, started_at, finished_at, last_error, user_id, tags)
SELECT 'kind-' || (g % 20), 'queue-' || (g % 5), json_build_object('n', g, 'pad', repeat('x', 60))::text,
       CASE WHEN g % 35 = 0 THEN 'failed' WHEN g % 70 = 1 THEN 'cancelled' ELSE 'done' END, 1, 1, t, t, t, t, t,
       CASE WHEN g % 35 = 0 THEN 'error ' || (g % 50) END, 'user-' || (g % 1000), CASE WHEN g % 10 = 0 THEN '["big"]' END
FROM generate_series(1, :rows) AS g, LATERAL (SELECT :now - (:rows - g) * (CAST(2592000000000 AS BIGINT) / :rows) AS t) AS x;

INSERT INTO sqluice_jobs (kind, queue, payload, status, run_after, created_at, updated_at)
SELECT 'kind-' || (g % 20), 'queue-' || (g % 5), '{}', CASE WHEN g % 2 = 0 THEN 'scheduled' ELSE 'pending' END,
       CAST(:now AS BIGINT) + CASE WHEN g % 2 = 0 THEN CAST(86400000000 AS BIGINT) ELSE -g * 1000 END, :now, :now FROM generate_series(1, 20000) AS g;

INSERT INTO sqluice_job_errors (job_id, attempt, started_at, ended_at, cause, message, stack)
SELECT id, 1, started_at, finished_at, 'error', last_error, 'goroutine 1 [running]:' FROM sqluice_jobs WHERE status = 'failed';

INSERT INTO sqluice_job_history (step, start_at, queue, kind, event, bucket, times)
SELECT s.step, t.start_at, 'queue-' || (k % 5), 'kind-' || k, e.event, e.bucket, 1 + (t.start_at / s.step + k) % 50
FROM (VALUES (CAST(60000000 AS BIGINT), 360), (900000000, 2880)) AS s (step, n),
     LATERAL (SELECT (:now / s.step - i) * s.step AS start_at FROM generate_series(0, s.n) AS i) AS t,
     generate_series(0, 19) AS k,
     (VALUES ('done', 0), ('failed', 0), ('retried', 0), ('wait', 3), ('wait', 4), ('wait', 5), ('wait', 6),
             ('run', 5), ('run', 6), ('run', 7), ('run', 8)) AS e (event, bucket);

INSERT INTO sqluice_job_history (step, start_at, queue, kind, event, bucket, times)
SELECT h.step, h.start_at, h.queue, '', h.event, h.bucket, CAST(SUM(h.times) AS BIGINT) FROM sqluice_job_history AS h
GROUP BY h.step, h.start_at, h.queue, h.event, h.bucket
UNION ALL
SELECT h.step, h.start_at, '', h.kind, h.event, h.bucket, CAST(SUM(h.times) AS BIGINT) FROM sqluice_job_history AS h
GROUP BY h.step, h.start_at, h.kind, h.event, h.bucket
UNION ALL
SELECT h.step, h.start_at, '', '', h.event, h.bucket, CAST(SUM(h.times) AS BIGINT) FROM sqluice_job_history AS h
GROUP BY h.step, h.start_at, h.event, h.bucket;

VACUUM (ANALYZE) sqluice_jobs;

VACUUM (ANALYZE) sqluice_job_history;
