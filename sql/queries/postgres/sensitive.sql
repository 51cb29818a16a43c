-- name: ListSensitiveFields :many
-- ListSensitiveFields lists the fields that are hidden in the jobs of some kinds, a JSON list.
SELECT s.kind, s.path FROM sqluice_sensitive_fields AS s
WHERE s.kind IN (SELECT k.value FROM jsonb_array_elements_text(CAST(CAST(@kinds AS TEXT) AS jsonb)) AS k (value))
ORDER BY s.kind, s.path;

-- name: AddSensitiveFields :execrows
-- AddSensitiveFields marks fields, a JSON list of [kind, path]. Those that are marked already stay so.
INSERT INTO sqluice_sensitive_fields (kind, path, marked_at)
SELECT e.value->>0, e.value->>1, @now
FROM jsonb_array_elements(CAST(CAST(@items AS TEXT) AS jsonb)) AS e (value)
ON CONFLICT DO NOTHING;

-- name: DeleteSensitiveFields :execrows
-- DeleteSensitiveFields takes the marks from fields of one kind, a JSON list of paths.
DELETE FROM sqluice_sensitive_fields
WHERE kind = @kind
  AND path IN (SELECT e.value FROM jsonb_array_elements_text(CAST(CAST(@paths AS TEXT) AS jsonb)) AS e (value));
