-- Years of work, as an operator's queue has it: :rows jobs of 20 kinds in 5 queues over 30 days, most of them done; and what is
-- kept of their history.
INSERT INTO sqluice_jobs (kind, queue, payload, status, attempt, worker_id, run_after, created_at, updated_at, started_at, finished_at, last_error, user_id, tags)
WITH RECURSIVE numbers (g) AS (SELECT 1 UNION ALL SELECT g + 1 FROM numbers WHERE g < :rows)
SELECT 'kind-' || (g % 20), 'queue-' || (g % 5), json_object('n', g, 'pad', printf('%.*c', 60, 'x')),
       CASE WHEN g % 35 = 0 THEN 'failed' WHEN g % 70 = 1 THEN 'cancelled' ELSE 'done' END, 1, 1, t, t, t, t, t,
       CASE WHEN g % 35 = 0 THEN 'error ' || (g % 50) END, 'user-' || (g % 1000), CASE WHEN g % 10 = 0 THEN '["big"]' END
FROM (SELECT g, :now - (:rows - g) * (30 * 86400 * 1000000 / :rows) AS t FROM numbers);

INSERT INTO sqluice_jobs (kind, queue, payload, status, run_after, created_at, updated_at)
WITH RECURSIVE numbers (g) AS (SELECT 1 UNION ALL SELECT g + 1 FROM numbers WHERE g < 20000)
SELECT 'kind-' || (g % 20), 'queue-' || (g % 5), '{}', CASE WHEN g % 2 = 0 THEN 'scheduled' ELSE 'pending' END,
       :now + CASE WHEN g % 2 = 0 THEN 86400 * 1000000 ELSE -g * 1000 END, :now, :now FROM numbers;

INSERT INTO sqluice_job_errors (job_id, attempt, started_at, ended_at, cause, message, stack)
SELECT id, 1, started_at, finished_at, 'error', last_error, 'goroutine 1 [running]:' FROM sqluice_jobs WHERE status = 'failed';

INSERT INTO sqluice_job_history (step, start_at, queue, kind, event, bucket, times)
WITH RECURSIVE
    steps (step, start_at, ends_at) AS (
        SELECT 60000000, (:now / 60000000 - 360) * 60000000, :now
        UNION ALL SELECT 900000000, (:now / 900000000 - 2880) * 900000000, :now
    ),
    times (step, start_at, ends_at) AS (
        SELECT step, start_at, ends_at FROM steps
        UNION ALL SELECT step, start_at + step, ends_at FROM times WHERE start_at + step <= ends_at
    ),
    kinds (k) AS (SELECT 0 UNION ALL SELECT k + 1 FROM kinds WHERE k < 19),
    events (event, bucket) AS (
        VALUES ('done', 0), ('failed', 0), ('retried', 0), ('wait', 3), ('wait', 4), ('wait', 5), ('wait', 6),
               ('run', 5), ('run', 6), ('run', 7), ('run', 8)
    )
SELECT step, start_at, 'queue-' || (k % 5), 'kind-' || k, event, bucket, 1 + (start_at / step + k) % 50 FROM times, kinds, events;

INSERT INTO sqluice_job_history (step, start_at, queue, kind, event, bucket, times)
SELECT h.step, h.start_at, h.queue, '', h.event, h.bucket, CAST(SUM(h.times) AS INTEGER) FROM sqluice_job_history AS h
GROUP BY h.step, h.start_at, h.queue, h.event, h.bucket
UNION ALL
SELECT h.step, h.start_at, '', h.kind, h.event, h.bucket, CAST(SUM(h.times) AS INTEGER) FROM sqluice_job_history AS h
GROUP BY h.step, h.start_at, h.kind, h.event, h.bucket
UNION ALL
SELECT h.step, h.start_at, '', '', h.event, h.bucket, CAST(SUM(h.times) AS INTEGER) FROM sqluice_job_history AS h
GROUP BY h.step, h.start_at, h.event, h.bucket;
