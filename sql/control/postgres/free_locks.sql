SELECT k.value FROM jsonb_array_elements_text(CAST($1 AS jsonb)) AS k (value)
CROSS JOIN (
    SELECT CAST(extract(epoch FROM GREATEST(pg_postmaster_start_time(), pg_stat_get_bgwriter_stat_reset_time())) * 1000000 AS BIGINT) AS since,
           CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT) AS now
) AS server
JOIN sqluice_workers AS w ON w.lock_key = k.value AND w.ended_at IS NULL
WHERE (w.started_at > server.since OR server.since < server.now - CAST($2 AS BIGINT))
  AND pg_try_advisory_xact_lock(CAST(k.value AS BIGINT))
