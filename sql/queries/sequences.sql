-- name: PassFailedJobs :execrows
-- PassFailedJobs notes that the failed jobs of a kind and a limit key no longer hold its sequence. It returns 0 if there is none.
INSERT INTO sqluice_limit_keys (scope, name, limit_key, passed_id)
SELECT 'kind', f.kind, CAST(f.limit_key AS TEXT), f.id FROM sqluice_jobs AS f
WHERE f.kind = @kind AND f.limit_key = CAST(@limit_key AS TEXT) AND f.limit_key IS NOT NULL AND f.status = 'failed'
ORDER BY f.id DESC LIMIT 1
ON CONFLICT (scope, name, limit_key) DO UPDATE SET passed_id = excluded.passed_id;
