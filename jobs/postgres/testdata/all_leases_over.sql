SELECT bool_and(lease_until < CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)) FROM sqluice_jobs WHERE status = 'running'
