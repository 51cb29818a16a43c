-- +goose Up
-- The names that this migration makes must be free.
-- +goose StatementBegin
DO $$
DECLARE
    taken TEXT;
BEGIN
    SELECT string_agg(n.name, ', ' ORDER BY n.name) INTO taken FROM unnest(ARRAY[
        'sqluice_jobs_unique', 'sqluice_jobs_request', 'sqluice_key', 'sqluice_jobs_user'
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

-- What a job is known by, and what it carries beside its payload.
CREATE DOMAIN sqluice_key AS TEXT
    CONSTRAINT sqluice_key_check CHECK (length(VALUE) BETWEEN 1 AND 1000 AND VALUE !~ '[\u0001-\u001f\u007f-\u009f]');

ALTER TABLE sqluice_jobs ADD COLUMN unique_key sqluice_key;
ALTER TABLE sqluice_jobs ADD COLUMN request_id sqluice_key;
ALTER TABLE sqluice_jobs ADD COLUMN user_id sqluice_key;
ALTER TABLE sqluice_jobs ADD COLUMN tags sqluice_json;
ALTER TABLE sqluice_jobs ADD COLUMN metadata sqluice_json;
ALTER TABLE sqluice_jobs ADD COLUMN progress sqluice_json;
ALTER TABLE sqluice_jobs ADD COLUMN result sqluice_json;

-- At most one live job of a kind has a unique key; a request id is taken for as long as its row is kept.
CREATE UNIQUE INDEX sqluice_jobs_unique ON sqluice_jobs (kind, unique_key)
    WHERE unique_key IS NOT NULL AND status IN ('scheduled', 'pending', 'running');
CREATE UNIQUE INDEX sqluice_jobs_request ON sqluice_jobs (kind, request_id) WHERE request_id IS NOT NULL;
CREATE INDEX sqluice_jobs_user ON sqluice_jobs (user_id, id) WHERE user_id IS NOT NULL;

-- +goose Down
DROP INDEX sqluice_jobs_user;
DROP INDEX sqluice_jobs_request;
DROP INDEX sqluice_jobs_unique;
ALTER TABLE sqluice_jobs DROP COLUMN result;
ALTER TABLE sqluice_jobs DROP COLUMN progress;
ALTER TABLE sqluice_jobs DROP COLUMN metadata;
ALTER TABLE sqluice_jobs DROP COLUMN tags;
ALTER TABLE sqluice_jobs DROP COLUMN user_id;
ALTER TABLE sqluice_jobs DROP COLUMN request_id;
ALTER TABLE sqluice_jobs DROP COLUMN unique_key;
DROP DOMAIN sqluice_key;
