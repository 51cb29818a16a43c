INSERT INTO sqluice_jobs (kind, payload) VALUES ('k', '{"n": 1}');
INSERT INTO sqluice_jobs (kind, payload, unique_key) VALUES ('k', '1', 'u')
ON CONFLICT (kind, unique_key) WHERE unique_key IS NOT NULL AND successor_at IS NULL AND status IN ('scheduled', 'waiting', 'pending', 'running')
DO NOTHING;
INSERT INTO sqluice_jobs (kind, payload, unique_key) VALUES ('k', '2', 'u')
ON CONFLICT (kind, unique_key) WHERE unique_key IS NOT NULL AND successor_at IS NULL AND status IN ('scheduled', 'waiting', 'pending', 'running')
DO NOTHING;
INSERT INTO sqluice_jobs (kind, start_by) VALUES ('late', CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT) - 1000000);
INSERT INTO sqluice_jobs (kind) VALUES ('paused');
INSERT INTO sqluice_pauses (kind) VALUES ('paused');
INSERT INTO sqluice_schedules (name, kind, spec) VALUES ('nightly', 'k', '0 2 * * *');
INSERT INTO sqluice_schedules (name, kind, spec) VALUES ('often', 'k', '@every 1s');
INSERT INTO sqluice_retentions (kind, keep) VALUES ('k', 3600000000);
INSERT INTO sqluice_unique_keys (kind, unique_key, taken_at, until) VALUES ('report', 'daily', CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT), CAST((extract(epoch FROM clock_timestamp()) + 3600) * 1000000 AS BIGINT));
