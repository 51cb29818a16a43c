-- name: HoldLimitKey :exec
-- HoldLimitKey locks the row of a limit's key, and adds it if there is none. It waits for other transactions that have locked it.
INSERT INTO sqluice_limit_keys (scope, name, limit_key) VALUES (@scope, @name, @limit_key)
ON CONFLICT (scope, name, limit_key) DO UPDATE SET paid_until = sqluice_limit_keys.paid_until;
