-- The last hour and day of a service: more by day than by night, with a failing dependency some 40 minutes ago.
-- Buckets are classes of durations: 125 us, doubled so many times.
DELETE FROM sqluice_job_history;
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 95),
steps (step, start_at, i) AS (
    SELECT 60000000, (CAST(unixepoch() AS INTEGER) / 60 - i) * 60000000, i FROM n WHERE i BETWEEN 1 AND 61
    UNION ALL SELECT 900000000, (CAST(unixepoch() AS INTEGER) / 900 - i) * 900000000, i FROM n WHERE i BETWEEN 1 AND 95
),
kinds (queue, kind, weight) AS (VALUES ('media', 'thumbnail', 5), ('mail', 'send_email', 9), ('default', 'sync_crm', 3)),
events (event, bucket, share) AS (VALUES
    ('done', 0, 100), ('failed', 0, 1), ('retried', 0, 4),
    ('wait', 3, 30), ('wait', 4, 44), ('wait', 5, 20), ('wait', 8, 7), ('wait', 9, 2),
    ('run', 7, 14), ('run', 8, 40), ('run', 9, 33), ('run', 11, 14), ('run', 13, 3)
)
INSERT INTO sqluice_job_history (step, start_at, queue, kind, event, bucket, times)
SELECT s.step, s.start_at, k.queue, k.kind, e.event, e.bucket,
       CAST(max(0, (s.step / 60000000)
            * (k.weight * e.share * (1.6 + sin(s.i / 9.0 + k.weight) + 0.35 * sin(s.i * 1.9 + k.weight) + 0.2 * sin(s.i * 3.1)) / 16.0
               + CASE WHEN e.event IN ('failed', 'retried') AND k.kind = 'sync_crm' AND s.i BETWEEN 36 AND 43 THEN 34 - abs(s.i - 39) * 7 ELSE 0 END
               + CASE WHEN e.bucket = 9 AND e.event = 'wait' THEN 2 + 2 * sin(s.i / 4.0) ELSE 0 END)) AS INTEGER)
FROM steps AS s, kinds AS k, events AS e
WHERE true
ON CONFLICT DO NOTHING;

INSERT INTO sqluice_job_history (step, start_at, queue, kind, event, bucket, times)
SELECT h.step, h.start_at, h.queue, '', h.event, h.bucket, CAST(SUM(h.times) AS INTEGER) FROM sqluice_job_history AS h
GROUP BY h.step, h.start_at, h.queue, h.event, h.bucket
UNION ALL
SELECT h.step, h.start_at, '', h.kind, h.event, h.bucket, CAST(SUM(h.times) AS INTEGER) FROM sqluice_job_history AS h
GROUP BY h.step, h.start_at, h.kind, h.event, h.bucket
UNION ALL
SELECT h.step, h.start_at, '', '', h.event, h.bucket, CAST(SUM(h.times) AS INTEGER) FROM sqluice_job_history AS h
GROUP BY h.step, h.start_at, h.event, h.bucket;
