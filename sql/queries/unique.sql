-- name: ListFreeSuccessors :many
-- ListFreeSuccessors lists the successors whose unique keys no other live job holds.
SELECT s.kind, CAST(s.unique_key AS TEXT) AS unique_key FROM sqluice_jobs AS s
WHERE s.successor_at IS NOT NULL
  AND NOT EXISTS (
    SELECT 1 FROM sqluice_jobs AS h WHERE h.kind = s.kind AND h.unique_key = s.unique_key AND h.unique_key IS NOT NULL
      AND h.successor_at IS NULL AND h.status IN ('scheduled', 'pending', 'running'))
ORDER BY s.kind, s.unique_key LIMIT CAST(@n AS BIGINT);
