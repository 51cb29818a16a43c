-- +goose Up
-- How many jobs of each queue and kind ended how, without reading them. A write adds what it changes of that as a row to
-- sqluice_job_changes in the same transaction, without waiting for others. Every few seconds a worker adds those rows to the
-- sums.
-- The names have no rules here: they were checked in the rows of jobs.
CREATE DOMAIN sqluice_sum AS BIGINT
    CONSTRAINT sqluice_sum_check CHECK (VALUE BETWEEN -1000000000000 AND 1000000000000);
CREATE DOMAIN sqluice_total AS BIGINT
    CONSTRAINT sqluice_total_check CHECK (VALUE BETWEEN 0 AND 1000000000000);
CREATE DOMAIN sqluice_bucket AS BIGINT
    CONSTRAINT sqluice_bucket_check CHECK (VALUE BETWEEN 0 AND 63);

CREATE TABLE sqluice_job_counts (
    queue  TEXT           NOT NULL,
    kind   TEXT           NOT NULL,
    status TEXT           NOT NULL,
    jobs   sqluice_sum    NOT NULL,
    PRIMARY KEY (queue, kind, status)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 1000);

CREATE TABLE sqluice_job_changes (
    id    BIGINT GENERATED ALWAYS AS IDENTITY (MAXVALUE 9007199254740991) PRIMARY KEY,
    at    sqluice_time   NOT NULL,
    queue TEXT           NOT NULL,
    kind  TEXT           NOT NULL,
    -- A final status that jobs got, or lost, or retried or crashed.
    event TEXT           NOT NULL,
    -- How often that happened, and by how much the number of jobs with that status changed.
    times sqluice_total  NOT NULL,
    jobs  sqluice_sum    NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 1000);

-- What happened in each step of time (in microseconds), and how long jobs waited and ran, by classes of durations: for each
-- queue and kind, and added up over all kinds of a queue, all queues of a kind, and both, under empty names.
CREATE TABLE sqluice_job_history (
    step     sqluice_total  NOT NULL,
    start_at sqluice_time   NOT NULL,
    queue    TEXT           NOT NULL,
    kind     TEXT           NOT NULL,
    event    TEXT           NOT NULL,
    bucket   sqluice_bucket NOT NULL,
    times    sqluice_total  NOT NULL,
    PRIMARY KEY (step, start_at, queue, kind, event, bucket)
) WITH (fillfactor = 70);

-- +goose StatementBegin
CREATE FUNCTION sqluice_jobs_delete_counts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        EXECUTE format('DELETE FROM %I.sqluice_job_counts', TG_TABLE_SCHEMA);
        EXECUTE format('UPDATE %I.sqluice_job_changes SET jobs = 0 WHERE jobs <> 0', TG_TABLE_SCHEMA);
    ELSE
        EXECUTE format('INSERT INTO %I.sqluice_job_changes (at, queue, kind, event, times, jobs) '
            'SELECT 0, d.queue, d.kind, d.status, 0, -COUNT(*) FROM deleted AS d '
            'WHERE d.status IN (''done'', ''failed'', ''cancelled'') GROUP BY d.queue, d.kind, d.status', TG_TABLE_SCHEMA);
    END IF;
    RETURN NULL;
END;
$$;
-- +goose StatementEnd
CREATE TRIGGER sqluice_jobs_delete_counts AFTER DELETE ON sqluice_jobs REFERENCING OLD TABLE AS deleted
    FOR EACH STATEMENT EXECUTE FUNCTION sqluice_jobs_delete_counts();
CREATE TRIGGER sqluice_jobs_truncate_counts AFTER TRUNCATE ON sqluice_jobs
    FOR EACH STATEMENT EXECUTE FUNCTION sqluice_jobs_delete_counts();

-- The lock keeps others from ending jobs until the transaction ends: from here on they are counted.
LOCK TABLE sqluice_jobs IN SHARE ROW EXCLUSIVE MODE;
INSERT INTO sqluice_job_counts (queue, kind, status, jobs)
SELECT queue, kind, status, COUNT(*) FROM sqluice_jobs WHERE status IN ('done', 'failed', 'cancelled')
GROUP BY queue, kind, status;

-- +goose Down
DROP TRIGGER sqluice_jobs_truncate_counts ON sqluice_jobs;
DROP TRIGGER sqluice_jobs_delete_counts ON sqluice_jobs;
DROP FUNCTION sqluice_jobs_delete_counts();
DROP TABLE sqluice_job_history;
DROP TABLE sqluice_job_changes;
DROP TABLE sqluice_job_counts;
DROP DOMAIN sqluice_bucket;
DROP DOMAIN sqluice_total;
DROP DOMAIN sqluice_sum;
