-- name: EndPauses :execrows
-- EndPauses ends the pauses that are over: all of them, or that of a queue or of a kind in it. It does not wait for rows that are locked
-- (on SQLite none are).
DELETE FROM sqluice_pauses WHERE (queue, kind) IN (
    SELECT k.queue, k.kind FROM sqluice_pauses AS k WHERE k.paused_until <= CAST(@now AS BIGINT)
      AND (CAST(sqlc.narg('queue') AS TEXT) IS NULL OR k.queue = sqlc.narg('queue') AND k.kind = sqlc.narg('kind'))
    FOR UPDATE SKIP LOCKED
);
