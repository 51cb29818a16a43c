-- +goose Up
-- The names that this migration makes must be free.
-- +goose StatementBegin
DO $$
DECLARE
    taken TEXT;
BEGIN
    SELECT string_agg(n.name, ', ' ORDER BY n.name) INTO taken FROM unnest(ARRAY[
        'sqluice_job_audit', 'sqluice_job_audit_pkey', 'sqluice_job_audit_id_seq', 'sqluice_job_audit_at',
        'sqluice_job_audit_job', 'sqluice_job_audit_many', 'sqluice_sensitive_fields', 'sqluice_sensitive_fields_pkey'
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

-- What people changed: a row for each transaction with such a change, written in that transaction. A change of one job
-- names it in job_id; one of many lists them in job_ids, and jobs is how many.
CREATE TABLE sqluice_job_audit (
    id      BIGINT GENERATED ALWAYS AS IDENTITY (MAXVALUE 9007199254740991) PRIMARY KEY
            CHECK (id BETWEEN 1 AND 9007199254740991),
    at      sqluice_time  NOT NULL,
    actor   sqluice_name  NOT NULL,
    action  sqluice_name  NOT NULL,
    job_id  sqluice_id,
    kind    sqluice_name,
    queue   sqluice_name,
    jobs    sqluice_total NOT NULL,
    -- Numbers of at most 19 digits: jsonb takes no number that is much longer.
    job_ids sqluice_json CHECK (job_ids ~ '^\[([0-9]{1,19}(,[0-9]{1,19})*)?\]$'),
    detail  sqluice_json
);

CREATE INDEX sqluice_job_audit_at ON sqluice_job_audit (at);
CREATE INDEX sqluice_job_audit_job ON sqluice_job_audit (job_id) WHERE job_id IS NOT NULL;
CREATE INDEX sqluice_job_audit_many ON sqluice_job_audit (id) WHERE job_ids IS NOT NULL;

-- What of a kind's jobs only its handler may see, as paths: 'card.number' of the payload, '*' for all of it. A kind that has
-- no row hides nothing.
CREATE TABLE sqluice_sensitive_fields (
    kind      sqluice_name NOT NULL,
    path      sqluice_key  NOT NULL,
    marked_at sqluice_time NOT NULL,
    PRIMARY KEY (kind, path)
);

-- +goose Down
DROP TABLE sqluice_sensitive_fields;
DROP TABLE sqluice_job_audit;
