-- name: ReadSequences :many
-- ReadSequences returns for each key, of a JSON object with a list of keys for each kind, the first of its failed jobs that hold its sequence, and the first of its
-- jobs that have not started, by id, with its status and queue; 0 for none.
SELECT CAST(m.key AS TEXT) AS kind, CAST(e.value AS TEXT) AS limit_key,
       CAST(COALESCE((
           SELECT f.id FROM sqluice_jobs AS f
           WHERE f.kind = m.key AND f.limit_key = e.value AND f.limit_key IS NOT NULL AND f.status = 'failed'
             AND f.id > COALESCE((SELECT t.passed_id FROM sqluice_limit_keys AS t WHERE t.scope = 'kind' AND t.name = m.key AND t.limit_key = e.value), 0)
           ORDER BY f.id LIMIT 1), 0) AS BIGINT) AS failed_id,
       CAST(COALESCE(j.id, 0) AS BIGINT) AS first_id, CAST(COALESCE(j.status, '') AS TEXT) AS status, CAST(COALESCE(j.queue, '') AS TEXT) AS queue
FROM json_each(CAST(@keys AS TEXT)) AS m CROSS JOIN json_each(m.value) AS e
LEFT JOIN sqluice_jobs AS j ON j.id = (
    SELECT i.id FROM sqluice_jobs AS i
    WHERE i.kind = m.key AND i.limit_key = e.value AND i.limit_key IS NOT NULL AND i.status IN ('scheduled', 'waiting')
    ORDER BY i.id LIMIT 1
);

-- name: LockFirstJobs :many
-- LockFirstJobs locks those waiting jobs of a queue, a JSON list of ids, that are not set aside, and lists them. It passes over locked ones
-- (on SQLite there are none).
SELECT i.id, i.kind, CAST(i.limit_key AS TEXT) AS limit_key, i.priority FROM sqluice_jobs AS i
WHERE i.id IN (SELECT e.value FROM json_each(CAST(@ids AS TEXT)) AS e) AND i.queue = @queue AND i.status = 'waiting'
  AND NOT EXISTS (SELECT 1 FROM sqluice_refusals AS f WHERE f.job_id = i.id AND f.action IN ('claim', 'conflict') AND f.again_at > CAST(@now AS BIGINT) LIMIT 1 OFFSET 0);

-- name: CancelSequenceJobs :many
-- CancelSequenceJobs ends the jobs of a kind and a limit key that have not started.
UPDATE sqluice_jobs SET updated_at = @now, status = 'cancelled', finished_at = @now, last_error = CAST(@message AS TEXT),
                run_after = COALESCE(successor_at, run_after), successor_at = NULL
WHERE id IN (
    SELECT j.id FROM sqluice_jobs AS j
    WHERE j.kind = @kind AND j.limit_key = CAST(@limit_key AS TEXT) AND j.limit_key IS NOT NULL
      AND j.status IN ('scheduled', 'waiting')
)
RETURNING queue, kind, unique_key;
