-- name: ListFreeSuccessors :many
-- ListFreeSuccessors lists up to n successors whose unique keys no other live job holds, in the order of kinds and keys, after one.
SELECT s.kind, CAST(s.unique_key AS TEXT) AS unique_key FROM sqluice_jobs AS s
WHERE s.successor_at IS NOT NULL
  AND (s.kind > @after_kind OR s.kind = @after_kind AND s.unique_key > CAST(@after_key AS TEXT))
  AND NOT EXISTS (
    SELECT 1 FROM sqluice_jobs AS h WHERE h.kind = s.kind AND h.unique_key = s.unique_key AND h.unique_key IS NOT NULL
      AND h.successor_at IS NULL AND h.status IN ('scheduled', 'waiting', 'pending', 'running'))
ORDER BY s.kind, s.unique_key LIMIT @n;
