UPDATE sqluice_jobs SET lease_until = CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT) + 600000000 WHERE id = $1
