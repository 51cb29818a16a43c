-- +goose Up
-- The names that this migration makes must be free.
-- +goose StatementBegin
DO $$
DECLARE
    taken TEXT;
BEGIN
    SELECT string_agg(n.name, ', ' ORDER BY n.name) INTO taken FROM unnest(ARRAY[
        'sqluice_jobs_successor', 'sqluice_unique_keys', 'sqluice_unique_keys_pkey', 'sqluice_unique_keys_until'
    ]) AS n (name)
    WHERE EXISTS (SELECT 1 FROM pg_class AS c WHERE c.relnamespace = CAST(quote_ident(current_schema()) AS regnamespace) AND c.relname = n.name)
       OR EXISTS (SELECT 1 FROM pg_type AS t WHERE t.typnamespace = CAST(quote_ident(current_schema()) AS regnamespace) AND t.typname = n.name)
       OR EXISTS (SELECT 1 FROM pg_proc AS p WHERE p.pronamespace = CAST(quote_ident(current_schema()) AS regnamespace) AND p.proname = n.name);
    IF taken IS NOT NULL THEN
        RAISE EXCEPTION 'the database has these names already, of an application or of another build of sqluice: %', taken;
    END IF;
END;
$$;
-- +goose StatementEnd

-- A job with a unique key may have one successor, which waits, scheduled, until that job has ended: it has the same key, successor_at
-- is its own run_after, and its run_after is the last time of all meanwhile. A worker then gives it its run_after, and NULL here.
ALTER TABLE sqluice_jobs ADD COLUMN successor_at BIGINT -- no domain: one with a CHECK makes the server write the whole table anew
    CHECK (successor_at IS NULL OR (successor_at BETWEEN 100000000000000 AND 253402300799999999 OR successor_at = 0)
           AND unique_key IS NOT NULL AND status = 'scheduled');

-- At most one other live job of a kind has a unique key, and at most one waits for its end.
DROP INDEX sqluice_jobs_unique;
CREATE UNIQUE INDEX sqluice_jobs_unique ON sqluice_jobs (kind, unique_key)
    WHERE unique_key IS NOT NULL AND successor_at IS NULL AND status IN ('scheduled', 'pending', 'running');
CREATE UNIQUE INDEX sqluice_jobs_successor ON sqluice_jobs (kind, unique_key) WHERE successor_at IS NOT NULL;

-- Unique keys that are taken until a time, whatever becomes of the job that took them.
CREATE TABLE sqluice_unique_keys (
    kind       sqluice_name NOT NULL,
    unique_key sqluice_key  NOT NULL,
    taken_at   sqluice_time NOT NULL,
    until      sqluice_time NOT NULL,
    job_id     sqluice_id,
    PRIMARY KEY (kind, unique_key)
);

CREATE INDEX sqluice_unique_keys_until ON sqluice_unique_keys (until);

DROP VIEW sqluice_jobs_readable;
CREATE VIEW sqluice_jobs_readable AS
SELECT id, queue, kind, payload, status, priority,
       to_char(to_timestamp(run_after / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') || to_char(run_after % 1000000, '"."FM000000"Z"') AS run_after,
       attempt, uncounted, max_attempts, crashes, worker_id,
       to_char(to_timestamp(lease_until / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') || to_char(lease_until % 1000000, '"."FM000000"Z"') AS lease_until,
       timeout, unique_key, request_id, user_id, tags, metadata, progress, result, last_error,
       to_char(to_timestamp(created_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') || to_char(created_at % 1000000, '"."FM000000"Z"') AS created_at,
       to_char(to_timestamp(started_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') || to_char(started_at % 1000000, '"."FM000000"Z"') AS started_at,
       to_char(to_timestamp(finished_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') || to_char(finished_at % 1000000, '"."FM000000"Z"') AS finished_at,
       to_char(to_timestamp(updated_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') || to_char(updated_at % 1000000, '"."FM000000"Z"') AS updated_at,
       to_char(to_timestamp(cancel_requested_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') || to_char(cancel_requested_at % 1000000, '"."FM000000"Z"') AS cancel_requested_at,
       to_char(to_timestamp(successor_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') || to_char(successor_at % 1000000, '"."FM000000"Z"') AS successor_at
FROM sqluice_jobs;

-- +goose Down
DROP VIEW sqluice_jobs_readable;
DROP TABLE sqluice_unique_keys;
DROP INDEX sqluice_jobs_successor;
DROP INDEX sqluice_jobs_unique;
INSERT INTO sqluice_job_changes (at, queue, kind, event, times, jobs) -- for the counts
SELECT MAX(updated_at), queue, kind, 'cancelled', 0, COUNT(*) FROM sqluice_jobs WHERE successor_at IS NOT NULL GROUP BY queue, kind;
UPDATE sqluice_jobs SET status = 'cancelled', finished_at = updated_at, run_after = successor_at, successor_at = NULL WHERE successor_at IS NOT NULL;
ALTER TABLE sqluice_jobs DROP COLUMN successor_at;
CREATE UNIQUE INDEX sqluice_jobs_unique ON sqluice_jobs (kind, unique_key)
    WHERE unique_key IS NOT NULL AND status IN ('scheduled', 'pending', 'running');
CREATE VIEW sqluice_jobs_readable AS
SELECT id, queue, kind, payload, status, priority,
       to_char(to_timestamp(run_after / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') || to_char(run_after % 1000000, '"."FM000000"Z"') AS run_after,
       attempt, uncounted, max_attempts, crashes, worker_id,
       to_char(to_timestamp(lease_until / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') || to_char(lease_until % 1000000, '"."FM000000"Z"') AS lease_until,
       timeout, unique_key, request_id, user_id, tags, metadata, progress, result, last_error,
       to_char(to_timestamp(created_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') || to_char(created_at % 1000000, '"."FM000000"Z"') AS created_at,
       to_char(to_timestamp(started_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') || to_char(started_at % 1000000, '"."FM000000"Z"') AS started_at,
       to_char(to_timestamp(finished_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') || to_char(finished_at % 1000000, '"."FM000000"Z"') AS finished_at,
       to_char(to_timestamp(updated_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') || to_char(updated_at % 1000000, '"."FM000000"Z"') AS updated_at,
       to_char(to_timestamp(cancel_requested_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') || to_char(cancel_requested_at % 1000000, '"."FM000000"Z"') AS cancel_requested_at
FROM sqluice_jobs;
