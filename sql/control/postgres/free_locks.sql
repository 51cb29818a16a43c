SELECT k.value FROM jsonb_array_elements_text(CAST($1 AS jsonb)) AS k (value) WHERE pg_try_advisory_xact_lock(CAST(k.value AS BIGINT))
