-- +goose Up
-- Three views for people. Each time stands there twice: in unix microseconds, as the tables have it, and as text to the second.
-- The library never reads them. None reads jobs that are done: the cost grows with the jobs that wait, run or failed alone.

-- What waits, by queue and kind: waiting counts the jobs that are due, scheduled the jobs for later. oldest_at is when the first
-- waiting job fell due, next_at when the first scheduled job will.
CREATE VIEW sqluice_backlog AS
WITH clock (now) AS (SELECT CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000)
SELECT b.queue, b.kind, CAST(SUM(b.waiting) AS BIGINT) AS waiting, CAST(SUM(b.scheduled) AS BIGINT) AS scheduled,
       MIN(b.oldest_at) AS oldest_at,
       strftime('%Y-%m-%dT%H:%M:%SZ', MIN(b.oldest_at) / 1000000, 'unixepoch') AS oldest_at_text,
       (MIN(c.now) - MIN(b.oldest_at)) / 1000000 AS oldest_seconds,
       MIN(b.next_at) AS next_at,
       strftime('%Y-%m-%dT%H:%M:%SZ', MIN(b.next_at) / 1000000, 'unixepoch') AS next_at_text
FROM (
    SELECT p.queue, p.kind, COUNT(*) AS waiting, 0 AS scheduled,
           MIN(CASE p.run_after WHEN 0 THEN p.created_at ELSE p.run_after END) AS oldest_at, CAST(NULL AS BIGINT) AS next_at
    FROM sqluice_jobs AS p WHERE p.status = 'pending' GROUP BY p.queue, p.kind
    UNION ALL
    SELECT s.queue, s.kind, COUNT(CASE WHEN s.run_after <= d.now THEN 1 END), COUNT(CASE WHEN s.run_after > d.now THEN 1 END),
           MIN(CASE WHEN s.run_after <= d.now THEN CASE s.run_after WHEN 0 THEN s.created_at ELSE s.run_after END END),
           MIN(CASE WHEN s.run_after > d.now THEN s.run_after END)
    FROM sqluice_jobs AS s CROSS JOIN clock AS d WHERE s.status = 'scheduled' GROUP BY s.queue, s.kind
) AS b CROSS JOIN clock AS c
GROUP BY b.queue, b.kind;

-- What runs: each job with its worker and its start. The worker must give a sign of life before lease_until.
CREATE VIEW sqluice_running AS
SELECT j.id, j.queue, j.kind, j.user_id, j.attempt,
       CASE j.max_attempts WHEN 0 THEN 25 ELSE j.max_attempts END AS max_attempts, j.crashes, j.worker_id, w.name AS worker, w.host, w.pid,
       j.started_at,
       strftime('%Y-%m-%dT%H:%M:%SZ', j.started_at / 1000000, 'unixepoch') AS started_at_text,
       (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 - j.started_at) / 1000000 AS running_seconds,
       j.lease_until,
       strftime('%Y-%m-%dT%H:%M:%SZ', j.lease_until / 1000000, 'unixepoch') AS lease_until_text,
       j.cancel_requested_at,
       strftime('%Y-%m-%dT%H:%M:%SZ', j.cancel_requested_at / 1000000, 'unixepoch') AS cancel_requested_at_text,
       j.progress
FROM sqluice_jobs AS j LEFT JOIN sqluice_workers AS w ON w.id = j.worker_id
WHERE j.status = 'running' AND j.finished_at IS NULL;

-- What failed for good: each job with its worker, and the cause and the first 200 characters of the error of its last attempt.
CREATE VIEW sqluice_failures AS
SELECT j.id, j.queue, j.kind, j.user_id, j.attempt,
       CASE j.max_attempts WHEN 0 THEN 25 ELSE j.max_attempts END AS max_attempts, j.crashes,
       (SELECT e.cause FROM sqluice_job_errors AS e WHERE e.job_id = j.id AND e.cause NOT IN ('snoozed', 'released', 'cancelled', 'unable')
        ORDER BY e.attempt DESC, e.id DESC LIMIT 1) AS cause,
       substr(j.last_error, 1, 200) AS error, j.worker_id, w.name AS worker, w.host,
       j.created_at,
       strftime('%Y-%m-%dT%H:%M:%SZ', j.created_at / 1000000, 'unixepoch') AS created_at_text,
       j.finished_at,
       strftime('%Y-%m-%dT%H:%M:%SZ', j.finished_at / 1000000, 'unixepoch') AS finished_at_text
FROM sqluice_jobs AS j LEFT JOIN sqluice_workers AS w ON w.id = j.worker_id
WHERE j.status = 'failed';

-- +goose Down
DROP VIEW sqluice_failures;
DROP VIEW sqluice_running;
DROP VIEW sqluice_backlog;
