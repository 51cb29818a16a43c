-- +goose Up
-- The names that this migration makes must be free.
-- +goose StatementBegin
DO $$
DECLARE
    taken TEXT;
BEGIN
    SELECT string_agg(n.name, ', ' ORDER BY n.name) INTO taken FROM unnest(ARRAY[
        'sqluice_jobs_start_by'
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

-- A job that no worker has started by this time ends as cancelled; NULL for none, and when an attempt has begun and given the job back. The index has only those that may still end so.
-- (A domain with a CHECK would make the server write the whole table anew.)
ALTER TABLE sqluice_jobs ADD COLUMN start_by BIGINT
    CONSTRAINT start_by_is_in_unix_microseconds CHECK (start_by BETWEEN 100000000000000 AND 253402300799999999);
CREATE INDEX sqluice_jobs_start_by ON sqluice_jobs (start_by)
    WHERE start_by IS NOT NULL AND status IN ('scheduled', 'pending');

DROP VIEW sqluice_jobs_readable;
CREATE VIEW sqluice_jobs_readable AS
SELECT id, queue, kind, payload, status, priority,
       to_char(to_timestamp(run_after / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') || to_char(run_after % 1000000, '"."FM000000"Z"') AS run_after,
       to_char(to_timestamp(start_by / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') || to_char(start_by % 1000000, '"."FM000000"Z"') AS start_by,
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
DROP INDEX sqluice_jobs_start_by;
ALTER TABLE sqluice_jobs DROP COLUMN start_by;
