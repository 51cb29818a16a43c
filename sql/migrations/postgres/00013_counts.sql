-- +goose Up
-- How many jobs of each queue and kind ended how, without reading them. What a write changes of that is added as a row to
-- job_changes in the same transaction, which waits for nobody, and from there to the sums by any worker, every few
-- seconds.
CREATE TABLE job_counts (
    queue  TEXT   NOT NULL CHECK (length(queue) BETWEEN 1 AND 200 AND queue !~ '[\u0001-\u001f\u007f-\u009f]'),
    kind   TEXT   NOT NULL CHECK (length(kind) BETWEEN 1 AND 200 AND kind !~ '[\u0001-\u001f\u007f-\u009f]'),
    status TEXT   NOT NULL CHECK (status IN ('done', 'failed', 'cancelled')),
    jobs   BIGINT NOT NULL CHECK (jobs BETWEEN -1000000000000 AND 1000000000000),
    PRIMARY KEY (queue, kind, status)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 1000);

CREATE TABLE job_changes (
    id    BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at    BIGINT NOT NULL CHECK (at BETWEEN 0 AND 253402300799999999),
    queue TEXT   NOT NULL CHECK (length(queue) BETWEEN 1 AND 200 AND queue !~ '[\u0001-\u001f\u007f-\u009f]'),
    kind  TEXT   NOT NULL CHECK (length(kind) BETWEEN 1 AND 200 AND kind !~ '[\u0001-\u001f\u007f-\u009f]'),
    -- A final status that jobs got, or lost, or retried or crashed.
    event TEXT   NOT NULL CHECK (length(event) BETWEEN 1 AND 200 AND event !~ '[\u0001-\u001f\u007f-\u009f]'),
    -- How often that happened, and by how much the number of jobs with that status changed.
    times BIGINT NOT NULL CHECK (times BETWEEN 0 AND 1000000000000),
    jobs  BIGINT NOT NULL CHECK (jobs BETWEEN -1000000000000 AND 1000000000000)
) WITH (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 1000);

-- What happened in each step of time (in microseconds), and how long jobs waited and ran, by classes of durations.
CREATE TABLE job_history (
    step     BIGINT NOT NULL CHECK (step BETWEEN 0 AND 253402300799999999),
    start_at BIGINT NOT NULL CHECK (start_at BETWEEN 0 AND 253402300799999999),
    queue    TEXT   NOT NULL CHECK (length(queue) BETWEEN 0 AND 200 AND queue !~ '[\u0001-\u001f\u007f-\u009f]'),
    kind     TEXT   NOT NULL CHECK (length(kind) BETWEEN 0 AND 200 AND kind !~ '[\u0001-\u001f\u007f-\u009f]'),
    event    TEXT   NOT NULL CHECK (length(event) BETWEEN 1 AND 200 AND event !~ '[\u0001-\u001f\u007f-\u009f]'),
    bucket   BIGINT NOT NULL CHECK (bucket BETWEEN 0 AND 63),
    times    BIGINT NOT NULL CHECK (times BETWEEN 0 AND 1000000000000),
    PRIMARY KEY (step, start_at, queue, kind, event, bucket)
) WITH (fillfactor = 70);

-- +goose StatementBegin
CREATE FUNCTION jobs_delete_counts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        EXECUTE format('DELETE FROM %I.job_counts', TG_TABLE_SCHEMA);
        EXECUTE format('UPDATE %I.job_changes SET jobs = 0 WHERE jobs <> 0', TG_TABLE_SCHEMA);
    ELSE
        EXECUTE format('INSERT INTO %I.job_changes (at, queue, kind, event, times, jobs) '
            'SELECT 0, d.queue, d.kind, d.status, 0, -COUNT(*) FROM deleted AS d '
            'WHERE d.status IN (''done'', ''failed'', ''cancelled'') GROUP BY d.queue, d.kind, d.status', TG_TABLE_SCHEMA);
    END IF;
    RETURN NULL;
END;
$$;
-- +goose StatementEnd
CREATE TRIGGER jobs_delete_counts AFTER DELETE ON jobs REFERENCING OLD TABLE AS deleted
    FOR EACH STATEMENT EXECUTE FUNCTION jobs_delete_counts();
CREATE TRIGGER jobs_truncate_counts AFTER TRUNCATE ON jobs
    FOR EACH STATEMENT EXECUTE FUNCTION jobs_delete_counts();

-- Counting the jobs that wait reads the indexes alone. (The lock that this takes keeps others from ending jobs until the
-- transaction ends: from here on they are counted.)
DROP INDEX jobs_due;
CREATE INDEX jobs_due ON jobs (run_after, id) INCLUDE (queue, kind) WHERE status = 'scheduled';

INSERT INTO job_counts (queue, kind, status, jobs)
SELECT queue, kind, status, COUNT(*) FROM jobs WHERE status IN ('done', 'failed', 'cancelled')
GROUP BY queue, kind, status;

-- +goose Down
DROP INDEX jobs_due;
CREATE INDEX jobs_due ON jobs (run_after, id) WHERE status = 'scheduled';
DROP TRIGGER jobs_truncate_counts ON jobs;
DROP TRIGGER jobs_delete_counts ON jobs;
DROP FUNCTION jobs_delete_counts();
DROP TABLE job_history;
DROP TABLE job_changes;
DROP TABLE job_counts;
