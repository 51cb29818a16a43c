-- name: ReleaseSuccessors :execrows
-- ReleaseSuccessors lets the successors run whose unique keys, a JSON list of [kind, key], no other live job holds any more. It passes
-- over locked rows (on SQLite there are none), which another transaction replaces. A later look finds them. An updated_at from now to
-- set_back stays: it is of an enqueue whose time the next one must know, see ReplaceWaitingJob.
UPDATE sqluice_jobs SET updated_at = CASE WHEN sqluice_jobs.updated_at BETWEEN CAST(@now AS BIGINT) AND CAST(@set_back AS BIGINT) THEN sqluice_jobs.updated_at ELSE CAST(@now AS BIGINT) END,
                run_after = successor_at, successor_at = NULL
WHERE id IN (
    SELECT s.id FROM json_each(CAST(@keys AS TEXT)) AS k CROSS JOIN sqluice_jobs AS s
    WHERE s.kind = k.value->>0 AND s.unique_key = k.value->>1 AND s.successor_at IS NOT NULL
      AND NOT EXISTS (
        SELECT 1 FROM sqluice_jobs AS h WHERE h.kind = k.value->>0 AND h.unique_key = k.value->>1 AND h.unique_key IS NOT NULL
          AND h.successor_at IS NULL AND h.status IN ('scheduled', 'waiting', 'pending', 'running'))
);

-- name: DeletePastUniqueKeys :execrows
-- DeletePastUniqueKeys removes up to n unique keys that are free again. It does not wait for rows that are locked (on SQLite none are).
DELETE FROM sqluice_unique_keys WHERE (kind, unique_key) IN (
    SELECT k.kind, k.unique_key FROM sqluice_unique_keys AS k WHERE k.until <= @now
    ORDER BY k.until LIMIT @n);
