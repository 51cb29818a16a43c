-- name: ListAllSensitiveFields :many
-- ListAllSensitiveFields lists all fields that are marked.
SELECT s.* FROM sqluice_sensitive_fields AS s ORDER BY s.kind, s.path;
