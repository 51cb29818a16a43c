INSERT INTO sqluice_jobs (kind, payload, status, run_after, created_at, updated_at)
WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
SELECT 'noop', '{"n":100000,"pad":"0123456789012345678901234567890123456789012345678901234567890123456789"}', 'pending', 100000000000000 + i, 100000000000000 + i, 100000000000000 + i FROM n;

INSERT INTO sqluice_workers (name, lock_key, host, pid, version, queues, kinds, started_at, heartbeat_at, lease_until)
VALUES ('w', 'k', 'h', 1, 'v', '{}', '[]', 0, 0, 0);
