-- name: ListSensitiveFields :many
-- ListSensitiveFields lists the fields that are hidden in the jobs of some kinds, a JSON list.
SELECT s.kind, s.path FROM sqluice_sensitive_fields AS s
WHERE s.kind IN (SELECT k.value FROM json_each(CAST(@kinds AS TEXT)) AS k)
ORDER BY s.kind, s.path;

-- name: AddSensitiveFields :execrows
-- AddSensitiveFields marks fields, a JSON list of [kind, path]. Those that are marked already stay so.
INSERT INTO sqluice_sensitive_fields (kind, path, marked_at)
SELECT e.value->>0, e.value->>1, @now
FROM json_each(CAST(@items AS TEXT)) AS e
WHERE 1 = 1 /* else SQLite takes ON for the condition of a join */
ON CONFLICT DO NOTHING;

-- name: DeleteSensitiveFields :execrows
-- DeleteSensitiveFields takes the marks from fields of one kind, a JSON list of paths.
DELETE FROM sqluice_sensitive_fields
WHERE kind = @kind AND path IN (SELECT e.value FROM json_each(CAST(@paths AS TEXT)) AS e);
