-- name: EndPauses :execrows
-- EndPauses ends the pauses that are over: all of them, or that of a queue or of a kind in it. It does not wait for rows that are locked
-- (on SQLite none are).
DELETE FROM sqluice_pauses WHERE (queue, kind) IN (
    SELECT k.queue, k.kind FROM sqluice_pauses AS k WHERE k.paused_until <= CAST(@now AS BIGINT)
      AND (k.queue = sqlc.narg('queue') AND k.kind = sqlc.narg('kind') OR sqlc.narg('queue') IS NULL)
    FOR UPDATE SKIP LOCKED
);

-- name: GetPause :many
-- GetPause reads the pause of a queue, which has the kind '', or of a kind in it, if there is one. Until the end of the transaction no
-- other transaction changes it.
SELECT p.* FROM sqluice_pauses AS p WHERE p.queue = @queue AND p.kind = @kind
FOR UPDATE;
