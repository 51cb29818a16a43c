-- +goose Up
-- The names that this migration makes must be free.
-- +goose StatementBegin
DO $$
DECLARE
    taken TEXT;
BEGIN
    SELECT string_agg(n.name, ', ' ORDER BY n.name) INTO taken FROM unnest(ARRAY[
        'sqluice_job_errors', 'sqluice_job_errors_pkey', 'sqluice_job_errors_id_seq', 'sqluice_job_errors_job',
        'sqluice_jobs_delete_errors', 'sqluice_attempts', 'sqluice_timeout'
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

-- How often a job is tried, how long an attempt may take, and what became of attempts.
CREATE DOMAIN sqluice_attempts AS BIGINT
    CONSTRAINT sqluice_attempts_check CHECK (VALUE BETWEEN 1 AND 32767);
CREATE DOMAIN sqluice_timeout AS BIGINT
    CONSTRAINT timeout_is_in_microseconds CHECK (VALUE = 0 OR VALUE BETWEEN 1000 AND 9223372036854775);

ALTER TABLE sqluice_jobs ADD COLUMN max_attempts sqluice_attempts NOT NULL DEFAULT 25;
-- Microseconds; 0 means the kind's own timeout. Less than a millisecond is a number of seconds.
ALTER TABLE sqluice_jobs ADD COLUMN timeout sqluice_timeout NOT NULL DEFAULT 0;
ALTER TABLE sqluice_jobs ADD COLUMN last_error sqluice_text;

-- One row for every attempt that did not end well, and for the latest ones that were snoozed, released or cancelled.
CREATE TABLE sqluice_job_errors (
    id         BIGINT GENERATED ALWAYS AS IDENTITY (MAXVALUE 9007199254740991) PRIMARY KEY,
    job_id     sqluice_id    NOT NULL,
    attempt    sqluice_count NOT NULL,
    worker_id  sqluice_id,
    started_at sqluice_time,
    ended_at   sqluice_time  NOT NULL,
    cause      TEXT          NOT NULL CHECK (cause IN ('error', 'panic', 'timeout', 'decode', 'crash', 'lost', 'expired', 'snoozed', 'released', 'cancelled')),
    message    sqluice_text  NOT NULL,
    stack      sqluice_text  NOT NULL DEFAULT ''
);

CREATE INDEX sqluice_job_errors_job ON sqluice_job_errors (job_id, attempt);

-- What deletes the errors of deleted jobs. A foreign key would do it as well, and look at each job that is claimed or
-- finished whether its id has changed.
-- +goose StatementBegin
CREATE FUNCTION sqluice_jobs_delete_errors() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        EXECUTE format('DELETE FROM %I.sqluice_job_errors', TG_TABLE_SCHEMA);
    ELSE
        EXECUTE format('DELETE FROM %I.sqluice_job_errors AS e USING deleted AS d WHERE e.job_id = d.id', TG_TABLE_SCHEMA);
    END IF;
    RETURN NULL;
END;
$$;
-- +goose StatementEnd
CREATE TRIGGER sqluice_jobs_delete_errors AFTER DELETE ON sqluice_jobs REFERENCING OLD TABLE AS deleted
    FOR EACH STATEMENT EXECUTE FUNCTION sqluice_jobs_delete_errors();
-- A foreign key refuses this one. Errors that stay would be those of later jobs with the same ids, which a rescue goes by.
CREATE TRIGGER sqluice_jobs_truncate_errors AFTER TRUNCATE ON sqluice_jobs
    FOR EACH STATEMENT EXECUTE FUNCTION sqluice_jobs_delete_errors();

-- +goose Down
DROP TRIGGER sqluice_jobs_truncate_errors ON sqluice_jobs;
DROP TRIGGER sqluice_jobs_delete_errors ON sqluice_jobs;
DROP FUNCTION sqluice_jobs_delete_errors();
DROP TABLE sqluice_job_errors;
ALTER TABLE sqluice_jobs DROP COLUMN last_error;
ALTER TABLE sqluice_jobs DROP COLUMN timeout;
ALTER TABLE sqluice_jobs DROP COLUMN max_attempts;
DROP DOMAIN sqluice_timeout;
DROP DOMAIN sqluice_attempts;
