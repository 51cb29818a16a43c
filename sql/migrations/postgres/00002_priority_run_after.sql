-- +goose Up
-- The names that this migration makes must be free.
-- +goose StatementBegin
DO $$
DECLARE
    taken TEXT;
BEGIN
    SELECT string_agg(n.name, ', ' ORDER BY n.name) INTO taken FROM unnest(ARRAY[
        'sqluice_jobs_due', 'sqluice_priority', 'sqluice_run_after'
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

-- Which job runs first, and not before which time. A job whose time has not come is scheduled. So is a new job by default: a
-- worker makes it pending before its next claim, when it is due.
ALTER DOMAIN sqluice_status DROP CONSTRAINT sqluice_status_check;
ALTER DOMAIN sqluice_status ADD CONSTRAINT sqluice_status_check CHECK (VALUE = 'pending' OR VALUE = 'running' OR VALUE = 'done'
        OR VALUE = 'scheduled' OR VALUE = 'failed' OR VALUE = 'cancelled');
CREATE DOMAIN sqluice_priority AS BIGINT
    CONSTRAINT sqluice_priority_check CHECK (VALUE BETWEEN -32768 AND 32767);

-- Unix microseconds: 0 for at once, or from March 1973, which milliseconds do not reach, to the end of the year 9999.
CREATE DOMAIN sqluice_run_after AS BIGINT
    CONSTRAINT run_after_is_in_unix_microseconds CHECK (VALUE BETWEEN 100000000000000 AND 253402300799999999 OR VALUE = 0);

-- Higher priority runs first; not before run_after.
ALTER TABLE sqluice_jobs ADD COLUMN priority sqluice_priority NOT NULL DEFAULT 0;
ALTER TABLE sqluice_jobs ADD COLUMN run_after sqluice_run_after NOT NULL DEFAULT (CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT));
UPDATE sqluice_jobs SET run_after = created_at;
ALTER TABLE sqluice_jobs ALTER COLUMN status SET DEFAULT 'scheduled';

DROP INDEX sqluice_jobs_claim;
CREATE INDEX sqluice_jobs_claim ON sqluice_jobs (priority DESC, run_after, id) WHERE status = 'pending';
-- Of many jobs that fall due at the same time the first ones by id are claimable first.
CREATE INDEX sqluice_jobs_due ON sqluice_jobs (run_after, id) WHERE status = 'scheduled';

-- +goose Down
DROP INDEX sqluice_jobs_due;
DROP INDEX sqluice_jobs_claim;
ALTER TABLE sqluice_jobs ALTER COLUMN status SET DEFAULT 'pending';
UPDATE sqluice_jobs SET status = 'pending' WHERE status = 'scheduled';
ALTER TABLE sqluice_jobs DROP COLUMN run_after;
DROP DOMAIN sqluice_run_after;
ALTER TABLE sqluice_jobs DROP COLUMN priority;
DROP DOMAIN sqluice_priority;
ALTER DOMAIN sqluice_status DROP CONSTRAINT sqluice_status_check;
ALTER DOMAIN sqluice_status ADD CONSTRAINT sqluice_status_check CHECK (VALUE = 'pending' OR VALUE = 'running' OR VALUE = 'done'
        OR VALUE = 'failed' OR VALUE = 'cancelled');
CREATE INDEX sqluice_jobs_claim ON sqluice_jobs (id) WHERE status = 'pending';
