-- name: SetLimit :exec
-- SetLimit sets a limit of a kind and a key, in place of the one that was set before.
INSERT INTO sqluice_limits (kind, limit_key, running, starts, period, burst, set_at)
VALUES (@kind, @limit_key, @running, @starts, @period, @burst, @now)
ON CONFLICT (kind, limit_key) DO UPDATE SET running = excluded.running, starts = excluded.starts, period = excluded.period,
    burst = excluded.burst, set_at = excluded.set_at;

-- name: DeleteLimit :execrows
-- DeleteLimit removes a limit that SetLimit has set.
DELETE FROM sqluice_limits WHERE kind = @kind AND limit_key = @limit_key;

-- name: ListLimits :many
-- ListLimits lists set and declared limits by kind and key, with the number of running and of waiting jobs of the key: of all keys of
-- the kind when it is empty. set_at is 0 for a declared limit.
SELECT i.kind, i.limit_key, i.running, i.starts, i.period, i.burst, i.set_at,
       (SELECT COUNT(*) FROM sqluice_jobs AS r WHERE r.kind = i.kind AND r.limit_key IS NOT NULL AND r.status = 'running'
          AND (r.limit_key = i.limit_key OR i.limit_key = '')) AS active,
       (SELECT COUNT(*) FROM sqluice_jobs AS w WHERE w.kind = i.kind AND w.limit_key IS NOT NULL AND w.status = 'waiting'
          AND (w.limit_key = i.limit_key OR i.limit_key = '')) AS waiting
FROM (
    SELECT s.kind, s.limit_key, s.running, s.starts, s.period, s.burst, s.set_at FROM sqluice_limits AS s
    UNION ALL
    SELECT d.kind, CAST('' AS TEXT) AS limit_key, d.running, d.starts, d.period, d.burst, CAST(0 AS BIGINT) AS set_at FROM sqluice_declared_limits AS d
) AS i
ORDER BY i.kind, i.limit_key, i.set_at DESC;

-- name: CloseLimitKey :exec
-- CloseLimitKey lets no job of a kind and a key start before a time.
INSERT INTO sqluice_limit_keys (kind, limit_key, closed_until) VALUES (@kind, @limit_key, @until)
ON CONFLICT (kind, limit_key) DO UPDATE SET closed_until = CASE
    WHEN excluded.closed_until > sqluice_limit_keys.closed_until THEN excluded.closed_until ELSE sqluice_limit_keys.closed_until END;
