-- +goose Up
-- The names that this migration makes must be free.
-- +goose StatementBegin
DO $$
DECLARE
    taken TEXT;
BEGIN
    SELECT string_agg(n.name, ', ' ORDER BY n.name) INTO taken FROM unnest(ARRAY[
        'sqluice_workers', 'sqluice_workers_pkey', 'sqluice_workers_id_seq', 'sqluice_workers_live',
        'sqluice_workers_ended', 'sqluice_jobs_running', 'sqluice_id', 'sqluice_text'
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

-- Which worker runs a job, and until when.
CREATE DOMAIN sqluice_id AS BIGINT
    CONSTRAINT sqluice_id_check CHECK (VALUE BETWEEN 1 AND 9007199254740991);
CREATE DOMAIN sqluice_text AS TEXT
    CONSTRAINT sqluice_text_check CHECK (octet_length(VALUE) <= 1048576);

-- A worker is one running Runner. The row of a worker that ended stays for a while, so that a job's history can name it. A
-- process that can take the lock called lock_key knows that the worker is gone.
CREATE TABLE sqluice_workers (
    id           BIGINT GENERATED ALWAYS AS IDENTITY (MAXVALUE 9007199254740991) PRIMARY KEY
                 CHECK (id BETWEEN 1 AND 9007199254740991),
    name         sqluice_name NOT NULL,
    lock_key     TEXT         NOT NULL CHECK (length(lock_key) <= 200 AND lock_key !~ '[^0-9A-Za-z-]'),
    host         sqluice_text NOT NULL,
    pid          BIGINT       NOT NULL CHECK (pid BETWEEN 0 AND 4294967295),
    version      sqluice_text NOT NULL,
    queues       sqluice_json NOT NULL CHECK (json_typeof(CAST(queues AS json)) = 'object'),
    kinds        sqluice_json NOT NULL CHECK (json_typeof(CAST(kinds AS json)) = 'array'),
    started_at   sqluice_time NOT NULL,
    heartbeat_at sqluice_time NOT NULL,
    lease_until  sqluice_time NOT NULL,
    ended_at     sqluice_time,
    end_reason   TEXT CHECK (end_reason IN ('stopped', 'crash', 'lost'))
);

CREATE UNIQUE INDEX sqluice_workers_live ON sqluice_workers (name) WHERE ended_at IS NULL;
CREATE INDEX sqluice_workers_ended ON sqluice_workers (ended_at) WHERE ended_at IS NOT NULL;

-- attempt counts every claim and is the fence. uncounted are the claims among them that do not count
-- against max_attempts: snoozed and released ones. crashes are those in which the process died.
ALTER TABLE sqluice_jobs ADD COLUMN worker_id sqluice_id;
ALTER TABLE sqluice_jobs ADD COLUMN lease_until sqluice_time;
ALTER TABLE sqluice_jobs ADD COLUMN crashes sqluice_count NOT NULL DEFAULT 0;
ALTER TABLE sqluice_jobs ADD COLUMN uncounted sqluice_count NOT NULL DEFAULT 0;
ALTER TABLE sqluice_jobs ADD COLUMN cancel_requested_at sqluice_time;

CREATE INDEX sqluice_jobs_running ON sqluice_jobs (worker_id) WHERE status = 'running' AND finished_at IS NULL;

-- +goose Down
DROP INDEX sqluice_jobs_running;
ALTER TABLE sqluice_jobs DROP COLUMN cancel_requested_at;
ALTER TABLE sqluice_jobs DROP COLUMN uncounted;
ALTER TABLE sqluice_jobs DROP COLUMN crashes;
ALTER TABLE sqluice_jobs DROP COLUMN lease_until;
ALTER TABLE sqluice_jobs DROP COLUMN worker_id;
DROP TABLE sqluice_workers;
DROP DOMAIN sqluice_text;
DROP DOMAIN sqluice_id;
