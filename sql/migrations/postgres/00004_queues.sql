-- +goose Up
-- The names that this migration makes must be free.
-- +goose StatementBegin
DO $$
DECLARE
    taken TEXT;
BEGIN
    SELECT string_agg(n.name, ', ' ORDER BY n.name) INTO taken FROM unnest(ARRAY[
        'sqluice_queues', 'sqluice_queues_pkey'
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

-- Jobs of several queues share the table.
ALTER TABLE sqluice_jobs ADD COLUMN queue sqluice_name NOT NULL DEFAULT 'default';

-- A queue needs no row; a row says that it is paused.
CREATE TABLE sqluice_queues (
    name       sqluice_name NOT NULL PRIMARY KEY,
    paused_at  sqluice_time,
    updated_at sqluice_time NOT NULL
);

-- kind is in the index, so that rows that no worker here can run cost a claim nothing.
DROP INDEX sqluice_jobs_claim;
CREATE INDEX sqluice_jobs_claim ON sqluice_jobs (queue, kind, priority DESC, run_after, id) WHERE status = 'pending';

-- +goose Down
DROP INDEX sqluice_jobs_claim;
CREATE INDEX sqluice_jobs_claim ON sqluice_jobs (priority DESC, run_after, id) WHERE status = 'pending';
DROP TABLE sqluice_queues;
ALTER TABLE sqluice_jobs DROP COLUMN queue;
