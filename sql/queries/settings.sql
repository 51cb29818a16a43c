-- name: ListKindSettings :many
-- ListKindSettings lists what counts for the jobs of all kinds that programs declare.
SELECT k.kind, k.max_attempts, k.timeout, k.queue, k.priority FROM sqluice_kind_settings AS k;

-- name: GetKindSettings :one
-- GetKindSettings returns what counts for the jobs of a kind. No row means that no program has declared it.
SELECT k.kind, k.max_attempts, k.timeout, k.queue, k.priority FROM sqluice_kind_settings AS k WHERE k.kind = CAST(@kind AS TEXT);

-- name: ListLimitedKinds :many
-- ListLimitedKinds lists the kinds for which programs declare a limit.
SELECT d.kind FROM sqluice_declared_limits AS d;

-- name: ListBounded :many
-- ListBounded lists the kinds of which a set or a declared limit bounds the backlog of a key, or orders its jobs, and the queues with a
-- bounded backlog.
SELECT s.scope, s.name FROM sqluice_limits AS s WHERE s.depth > 0 OR s.ordered <> ''
UNION
SELECT 'kind' AS scope, d.kind FROM sqluice_declared_limits AS d WHERE d.depth > 0 OR d.ordered <> '';
