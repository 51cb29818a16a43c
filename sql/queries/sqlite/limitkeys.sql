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
FROM json_each(CAST(@keys AS TEXT)) AS e;

-- name: CountWaitingJobs :many
-- CountWaitingJobs counts up to n waiting jobs of each key of a kind, of a JSON list, with the time since which the first of them waits. It
-- lists no key without one.
SELECT CAST(j.limit_key AS TEXT) AS limit_key, COUNT(*) AS jobs,
       CAST(MIN(CASE j.run_after WHEN 0 THEN j.created_at ELSE j.run_after END) AS BIGINT) AS since
FROM json_each(CAST(@keys AS TEXT)) AS e
JOIN sqluice_jobs AS j ON j.id IN (
    SELECT i.id FROM sqluice_jobs AS i WHERE i.status = 'waiting' AND i.kind = @kind AND i.limit_key = e.value
    ORDER BY i.queue, i.priority DESC, i.run_after, i.id LIMIT CAST(@n AS BIGINT)
)
GROUP BY j.limit_key;

-- name: CountBacklogs :many
-- CountBacklogs counts for each key, of a JSON object with a list of keys for each kind, up to n jobs that have not started. It lists no key without one.
SELECT CAST(m.key AS TEXT) AS kind, CAST(e.value AS TEXT) AS limit_key, COUNT(*) AS jobs
FROM json_each(CAST(@keys AS TEXT)) AS m CROSS JOIN json_each(m.value) AS e
JOIN sqluice_jobs AS j ON j.id IN (
    SELECT i.id FROM sqluice_jobs AS i
    WHERE i.kind = m.key AND i.limit_key = e.value AND i.limit_key IS NOT NULL
      AND i.status IN ('scheduled', 'waiting')
    LIMIT CAST(@n AS BIGINT)
)
GROUP BY 1, 2;

-- name: CountQueueBacklog :one
-- CountQueueBacklog counts the jobs of a queue that have not started: up to n of each status, and so up to 3 n.
SELECT CAST((SELECT COUNT(*) FROM (SELECT 1 FROM sqluice_jobs AS p WHERE p.status = 'pending' AND p.queue = @queue LIMIT CAST(@n AS BIGINT)) AS a)
     + (SELECT COUNT(*) FROM (SELECT 1 FROM sqluice_jobs AS s WHERE s.status = 'scheduled' AND s.queue = @queue LIMIT CAST(@n AS BIGINT)) AS b)
     + (SELECT COUNT(*) FROM (
           SELECT w.id FROM (
               SELECT r.kind, r.limit_key FROM sqluice_lanes AS r WHERE r.queue = @queue AND r.ready_at IS NOT NULL
               UNION ALL
               SELECT u.kind, u.limit_key FROM sqluice_lanes AS u WHERE u.queue = @queue AND u.ready_at IS NULL
           ) AS l
           CROSS JOIN sqluice_jobs AS w ON w.kind = l.kind AND w.limit_key = l.limit_key AND w.queue = @queue
           WHERE w.status = 'waiting'
           LIMIT CAST(@n AS BIGINT)
       ) AS c) AS BIGINT) AS jobs;
