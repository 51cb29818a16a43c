-- +goose Up
-- One row for each attempt that did not end well, and for the latest ones that did not fail: the last four causes.
CREATE TABLE sqluice_job_errors (
    id         BIGINT GENERATED ALWAYS AS IDENTITY (MAXVALUE 9007199254740991) PRIMARY KEY,
    job_id     sqluice_id    NOT NULL,
    attempt    sqluice_count NOT NULL,
    worker_id  sqluice_id,
    started_at sqluice_time,
    ended_at   sqluice_time  NOT NULL,
    cause      TEXT          NOT NULL
               CHECK (cause IN ('error', 'panic', 'timeout', 'decode', 'crash', 'lost', 'expired',
                                'snoozed', 'released', 'cancelled', 'unable')),
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
