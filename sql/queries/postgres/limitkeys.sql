-- name: ReadLimitKeys :many
-- ReadLimitKeys returns for each key of a kind, of a JSON list, the number of its running jobs, the number of queues with waiting ones, the
-- time at which a claim looks at the first of these queues again (0: once a job of the key has ended), and the time until which the key is
-- closed.
SELECT CAST(e.value AS TEXT) AS limit_key,
       (SELECT COUNT(*) FROM sqluice_jobs AS r
        WHERE r.kind = @kind AND r.limit_key = e.value AND r.limit_key IS NOT NULL AND r.status = 'running') AS running,
       (SELECT COUNT(*) FROM sqluice_lanes AS l WHERE l.kind = @kind AND l.limit_key = e.value) AS queues,
       CAST(COALESCE((SELECT MIN(n.ready_at) FROM sqluice_lanes AS n WHERE n.kind = @kind AND n.limit_key = e.value), 0) AS BIGINT) AS ready_at,
       CAST(COALESCE((SELECT t.closed_until FROM sqluice_limit_keys AS t WHERE t.scope = 'kind' AND t.name = @kind AND t.limit_key = e.value), 0) AS BIGINT) AS closed_until
FROM jsonb_array_elements_text(CAST(CAST(@keys AS TEXT) AS jsonb)) AS e (value);

-- name: CountWaitingJobs :many
-- CountWaitingJobs counts up to n waiting jobs of each key of a kind, of a JSON list, with the time since which the first of them waits. It
-- lists no key without one.
SELECT CAST(j.limit_key AS TEXT) AS limit_key, COUNT(*) AS jobs,
       CAST(MIN(CASE j.run_after WHEN 0 THEN j.created_at ELSE j.run_after END) AS BIGINT) AS since
FROM jsonb_array_elements_text(CAST(CAST(@keys AS TEXT) AS jsonb)) AS e (value)
CROSS JOIN LATERAL (
    SELECT i.limit_key, i.run_after, i.created_at FROM sqluice_jobs AS i WHERE i.status = 'waiting' AND i.kind = @kind AND i.limit_key = e.value
    ORDER BY i.queue, i.priority DESC, i.run_after, i.id LIMIT CAST(@n AS BIGINT)
) AS j
GROUP BY j.limit_key;

-- name: CountBacklogs :many
-- CountBacklogs counts for each key, of a JSON object with a list of keys for each kind, up to n jobs that have not started. It lists no key without one.
SELECT CAST(m.key AS TEXT) AS kind, CAST(e.value AS TEXT) AS limit_key, COUNT(*) AS jobs
FROM jsonb_each(CAST(CAST(@keys AS TEXT) AS jsonb)) AS m (key, value) CROSS JOIN jsonb_array_elements_text(m.value) AS e (value)
CROSS JOIN LATERAL (
    SELECT i.id FROM sqluice_jobs AS i
    WHERE i.kind = m.key AND i.limit_key = e.value AND i.limit_key IS NOT NULL
      AND i.status IN ('scheduled', 'waiting')
    LIMIT @n
) AS j
GROUP BY 1, 2;

-- name: CountQueueBacklog :one
-- CountQueueBacklog counts the jobs of a queue that have not started: up to n of each status, and so up to 3 n.
SELECT CAST((SELECT COUNT(*) FROM (SELECT 1 FROM sqluice_jobs AS p WHERE p.status = 'pending' AND p.queue = @queue LIMIT @n) AS a)
     + (SELECT COUNT(*) FROM (SELECT 1 FROM sqluice_jobs AS s WHERE s.status = 'scheduled' AND s.queue = @queue LIMIT @n) AS b)
     + (SELECT COUNT(*) FROM (
           SELECT w.id FROM (
               SELECT r.kind, r.limit_key FROM sqluice_lanes AS r WHERE r.queue = @queue AND r.ready_at IS NOT NULL
               UNION ALL
               SELECT u.kind, u.limit_key FROM sqluice_lanes AS u WHERE u.queue = @queue AND u.ready_at IS NULL
           ) AS l
           CROSS JOIN LATERAL (
               SELECT i.id FROM sqluice_jobs AS i
               WHERE i.status = 'waiting' AND i.kind = l.kind AND i.limit_key = l.limit_key AND i.queue = @queue LIMIT @n
           ) AS w
           LIMIT @n
       ) AS c) AS BIGINT) AS jobs;
