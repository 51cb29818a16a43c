-- +goose Up
-- The database must store texts in UTF-8.
-- +goose StatementBegin
DO $$
BEGIN
    IF current_setting('server_encoding') <> 'UTF8' THEN
        RAISE EXCEPTION 'the encoding of the database is % and must be UTF8', current_setting('server_encoding');
    END IF;
END;
$$;
-- +goose StatementEnd

-- There is no queue in another schema of the search_path: where the queue is would have two answers.
-- +goose StatementBegin
DO $$
DECLARE
    others TEXT;
BEGIN
    SELECT string_agg(CAST(n.nspname AS TEXT), ', ') INTO others FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE c.relname = 'sqluice_jobs' AND n.nspname = ANY (current_schemas(false)) AND n.nspname <> current_schema();
    IF others IS NOT NULL THEN
        RAISE EXCEPTION 'the search_path leads to a table sqluice_jobs in the schema % already: %', others,
            'set search_path to the schema of the queue alone';
    END IF;
END;
$$;
-- +goose StatementEnd

-- Names that begin with sqluice_ belong to the queue. The migrations begin only where none of them is taken, except for goose's own
-- table, and otherwise refuse with the list of what is in the way.
-- +goose StatementBegin
DO $$
DECLARE
    taken TEXT;
BEGIN
    SELECT string_agg(DISTINCT CAST(n.name AS TEXT), ', ') INTO taken FROM (
        SELECT c.relname, c.relnamespace FROM pg_class AS c
        UNION ALL SELECT t.typname, t.typnamespace FROM pg_type AS t
        UNION ALL SELECT p.proname, p.pronamespace FROM pg_proc AS p
    ) AS n (name, place)
    WHERE n.place = CAST(quote_ident(current_schema()) AS regnamespace) AND n.name LIKE 'sqluice!_%' ESCAPE '!'
      AND n.name NOT LIKE 'sqluice!_migrations%' ESCAPE '!';
    IF taken IS NOT NULL THEN
        RAISE EXCEPTION 'the database has these names already, of an application or of another build of sqluice: %', taken;
    END IF;
END;
$$;
-- +goose StatementEnd

-- One row is one job. INSERT INTO sqluice_jobs (kind, payload) VALUES ('resize', '{"file": "a.png"}') adds one.
-- Times are in unix microseconds, UTC.
CREATE TABLE sqluice_jobs (
    id          BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind        TEXT   NOT NULL,                  -- the name of the handler
    payload     TEXT   NOT NULL DEFAULT '{}',     -- the input of the handler, in JSON
    status      TEXT   NOT NULL DEFAULT 'pending' -- then running, then done, failed or cancelled
                CHECK (status IN ('scheduled', 'pending', 'running', 'done', 'failed', 'cancelled')),
    attempt     BIGINT NOT NULL DEFAULT 0,        -- how often it was claimed
    created_at  BIGINT NOT NULL DEFAULT (CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)),
    updated_at  BIGINT NOT NULL DEFAULT (CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)),
    started_at  BIGINT,
    finished_at BIGINT
);

CREATE INDEX sqluice_jobs_claim ON sqluice_jobs (id) WHERE status = 'pending';

-- +goose Down
DROP TABLE sqluice_jobs;
