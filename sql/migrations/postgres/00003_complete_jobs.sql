-- +goose Up
-- What a column may hold is the matter of its domain, which looks at a value when it is assigned: what the library refuses, the domains
-- refuse. (The server parses the CHECKs of a table for each statement that writes to it, and looks at all columns of each row, also at
-- a payload that did not change: that was two fifths of what a claim and a finish of one job cost it.)
CREATE DOMAIN sqluice_name AS TEXT
    CONSTRAINT sqluice_name_check CHECK (length(VALUE) BETWEEN 1 AND 200);
CREATE DOMAIN sqluice_key AS TEXT
    CONSTRAINT sqluice_key_check CHECK (length(VALUE) BETWEEN 1 AND 1000);
CREATE DOMAIN sqluice_text AS TEXT
    CONSTRAINT sqluice_text_check CHECK (octet_length(VALUE) <= 1048576);
-- sqluice_json_depth returns how many levels deep the arrays and objects of a JSON text are nested, and 1001 for more. A text
-- with at most 1000 opening brackets is not looked at closer: the number of them is returned. Without its strings and scalars a
-- text consists of brackets, and each round of the loop removes the innermost ones.
-- +goose StatementBegin
CREATE FUNCTION sqluice_json_depth(document TEXT) RETURNS BIGINT LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    depth    BIGINT := octet_length(document) - octet_length(replace(replace(document, '[', ''), '{', ''));
    brackets TEXT;
BEGIN
    IF depth <= 1000 THEN
        RETURN depth;
    END IF;
    brackets := translate(regexp_replace(document, E'"([^"\\\\]|\\\\.)*"', '', 'g'),
        E'{},:0123456789+-.eEtrufalsn \t\n\r', '[]');
    depth := 0;
    WHILE brackets <> '' AND depth <= 1000 LOOP
        brackets := replace(brackets, '[]', '');
        depth := depth + 1;
    END LOOP;
    RETURN depth;
END;
$$;
-- +goose StatementEnd
-- SQLite's JSON functions refuse more than 1000 levels, which need more than 2000 bytes.
CREATE DOMAIN sqluice_json AS TEXT
    CONSTRAINT sqluice_json_check CHECK (VALUE IS NULL OR CAST(VALUE AS json) IS NOT NULL AND (octet_length(VALUE) <= 1048576
        OR VALUE LIKE '"sqluice:encrypted:%' AND octet_length(VALUE) <= 1572864)
        AND (octet_length(VALUE) <= 2000 OR sqluice_json_depth(VALUE) <= 1000));
CREATE DOMAIN sqluice_status AS TEXT
    CONSTRAINT sqluice_status_check CHECK (VALUE = 'pending' OR VALUE = 'running' OR VALUE = 'done'
        OR VALUE = 'scheduled' OR VALUE = 'failed' OR VALUE = 'cancelled');
CREATE DOMAIN sqluice_id AS BIGINT
    CONSTRAINT sqluice_id_check CHECK (VALUE BETWEEN 1 AND 9007199254740991);
CREATE DOMAIN sqluice_count AS BIGINT
    CONSTRAINT sqluice_count_check CHECK (VALUE BETWEEN 0 AND 1000000000);
CREATE DOMAIN sqluice_priority AS BIGINT
    CONSTRAINT sqluice_priority_check CHECK (VALUE BETWEEN -32768 AND 32767);
CREATE DOMAIN sqluice_attempts AS BIGINT
    CONSTRAINT sqluice_attempts_check CHECK (VALUE BETWEEN 0 AND 32767);
-- Less than a millisecond is a number of seconds.
CREATE DOMAIN sqluice_timeout AS BIGINT
    CONSTRAINT timeout_is_in_microseconds CHECK (VALUE = 0 OR VALUE BETWEEN 1000 AND 9223372036854775);
-- Unix microseconds: 0, or from March 1973, which milliseconds do not reach, to the end of the year 9999.
CREATE DOMAIN sqluice_time AS BIGINT
    CONSTRAINT time_is_in_unix_microseconds CHECK (VALUE BETWEEN 100000000000000 AND 253402300799999999 OR VALUE = 0);
CREATE DOMAIN sqluice_run_after AS BIGINT
    CONSTRAINT run_after_is_in_unix_microseconds CHECK (VALUE BETWEEN 100000000000000 AND 253402300799999999 OR VALUE = 0);

-- sqluice_ids returns a list of ids as statements take it, '[1,2,3]', as an array. STABLE, as the conversion of an array is: so the server
-- puts the expression in place of the call. A statement writes (SELECT sqluice_ids(@ids)), which is evaluated once and not for each row.
CREATE FUNCTION sqluice_ids(ids TEXT) RETURNS BIGINT[] LANGUAGE sql STABLE STRICT PARALLEL SAFE AS
$$ SELECT CAST(translate(ids, '[]', '{}') AS BIGINT[]) $$;

-- The complete table of a job, made anew, here and nowhere else: later migrations add to it.
-- A plain INSERT of any language adds a good job.
DROP INDEX sqluice_jobs_due;
DROP INDEX sqluice_jobs_claim;
ALTER TABLE sqluice_jobs RENAME CONSTRAINT sqluice_jobs_pkey TO sqluice_jobs_old_pkey;
ALTER SEQUENCE sqluice_jobs_id_seq RENAME TO sqluice_jobs_old_id_seq;
ALTER TABLE sqluice_jobs RENAME TO sqluice_jobs_old;

-- Every job leaves two dead rows and their index entries in the way of claims. The default is to clear them when they
-- are a fifth of the table, which is never soon enough when a million finished jobs are kept. An update that finds room in
-- its own page writes less to the log.
CREATE TABLE sqluice_jobs (
    id                  BIGINT GENERATED ALWAYS AS IDENTITY (MAXVALUE 9007199254740991) PRIMARY KEY
                        CHECK (id BETWEEN 1 AND 9007199254740991),
    -- What to do.
    queue               sqluice_name     NOT NULL DEFAULT 'default',
    kind                sqluice_name     NOT NULL,
    payload             sqluice_json     NOT NULL DEFAULT '{}',
    max_attempts        sqluice_attempts NOT NULL DEFAULT 0,
    timeout             sqluice_timeout  NOT NULL DEFAULT 0,
    -- When to do it.
    status              sqluice_status   NOT NULL DEFAULT 'scheduled',
    priority            sqluice_priority NOT NULL DEFAULT 0,
    run_after           sqluice_run_after NOT NULL DEFAULT (CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)),
    start_by            BIGINT
                        CONSTRAINT start_by_is_in_unix_microseconds CHECK (start_by BETWEEN 100000000000000 AND 253402300799999999),
    successor_at        BIGINT
                        CHECK (successor_at IS NULL OR (successor_at BETWEEN 100000000000000 AND 253402300799999999 OR successor_at = 0)
                               AND unique_key IS NOT NULL AND status = 'scheduled'),
    -- By which worker.
    attempt             sqluice_count    NOT NULL DEFAULT 0,
    uncounted           sqluice_count    NOT NULL DEFAULT 0,
    crashes             sqluice_count    NOT NULL DEFAULT 0,
    worker_id           sqluice_id,
    lease_until         sqluice_time,
    cancel_requested_at sqluice_time,
    -- For which caller.
    unique_key          sqluice_key,
    request_id          sqluice_key,
    user_id             sqluice_key,
    tags                sqluice_json,
    metadata            sqluice_json,
    -- What came of it.
    progress            sqluice_json,
    result              sqluice_json,
    last_error          sqluice_text,
    created_at          sqluice_time     NOT NULL DEFAULT (CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)),
    started_at          sqluice_time,
    finished_at         sqluice_time,
    updated_at          sqluice_time     NOT NULL DEFAULT (CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT))
) WITH (fillfactor = 70,
        autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 10000,
        autovacuum_vacuum_insert_scale_factor = 0.0, autovacuum_vacuum_insert_threshold = 100000,
        autovacuum_vacuum_cost_limit = 2000);

COMMENT ON TABLE sqluice_jobs IS 'One row is one job. Times are in unix microseconds, UTC.';
COMMENT ON COLUMN sqluice_jobs.id IS 'never that of another job, also of a deleted one';
COMMENT ON COLUMN sqluice_jobs.queue IS 'what to do: the queue of the job';
COMMENT ON COLUMN sqluice_jobs.kind IS 'what to do: the name of the handler';
COMMENT ON COLUMN sqluice_jobs.payload IS 'what to do: the input of the handler, JSON of at most 1 MiB';
COMMENT ON COLUMN sqluice_jobs.max_attempts IS 'what to do: the job fails with this attempt; 0 for the number of the kind, or else 25';
COMMENT ON COLUMN sqluice_jobs.timeout IS 'what to do: of an attempt, in microseconds; 0 for the timeout of the kind';
COMMENT ON COLUMN sqluice_jobs.status IS 'when to do it: a worker makes a scheduled job pending when it is due, and claims it then';
COMMENT ON COLUMN sqluice_jobs.priority IS 'when to do it: higher runs first';
COMMENT ON COLUMN sqluice_jobs.run_after IS 'when to do it: not before this time; 0 is at once';
COMMENT ON COLUMN sqluice_jobs.start_by IS 'when to do it: the job is cancelled when no attempt has begun by this time';
COMMENT ON COLUMN sqluice_jobs.successor_at IS 'when to do it: the run_after of a job that waits for another one with its unique_key';
COMMENT ON COLUMN sqluice_jobs.attempt IS 'by which worker: counts the claims; only the worker of the last one may write';
COMMENT ON COLUMN sqluice_jobs.uncounted IS 'by which worker: the attempts that max_attempts does not count: snoozed, released or unable';
COMMENT ON COLUMN sqluice_jobs.crashes IS 'by which worker: the attempts in which the process died';
COMMENT ON COLUMN sqluice_jobs.worker_id IS 'by which worker: the worker of the last attempt';
COMMENT ON COLUMN sqluice_jobs.lease_until IS 'by which worker: after this time others may take the job from that worker';
COMMENT ON COLUMN sqluice_jobs.cancel_requested_at IS 'by which worker: the worker is to stop the attempt';
COMMENT ON COLUMN sqluice_jobs.unique_key IS 'for which caller: one live job of a kind has it';
COMMENT ON COLUMN sqluice_jobs.request_id IS 'for which caller: one job of a kind has it; a repeated request adds no second job';
COMMENT ON COLUMN sqluice_jobs.user_id IS 'for which caller: the user of the application';
COMMENT ON COLUMN sqluice_jobs.tags IS 'for which caller: JSON';
COMMENT ON COLUMN sqluice_jobs.metadata IS 'for which caller: JSON';
COMMENT ON COLUMN sqluice_jobs.progress IS 'what came of it: JSON, written by the handler';
COMMENT ON COLUMN sqluice_jobs.result IS 'what came of it: JSON, returned by the handler';
COMMENT ON COLUMN sqluice_jobs.last_error IS 'what came of it: the message of the last error';
COMMENT ON COLUMN sqluice_jobs.created_at IS 'what came of it: when the job was added';
COMMENT ON COLUMN sqluice_jobs.started_at IS 'what came of it: when the last attempt began';
COMMENT ON COLUMN sqluice_jobs.finished_at IS 'what came of it: when the job was done, failed or was cancelled';
COMMENT ON COLUMN sqluice_jobs.updated_at IS 'what came of it: when the row was last written';

INSERT INTO sqluice_jobs (id, kind, payload, status, attempt, created_at, updated_at, started_at, finished_at, priority, run_after)
OVERRIDING SYSTEM VALUE
SELECT id, kind, payload, status, attempt, created_at, updated_at, started_at, finished_at, priority, run_after FROM sqluice_jobs_old;
SELECT setval('sqluice_jobs_id_seq', s.last_value, s.is_called) FROM sqluice_jobs_old_id_seq AS s;
DROP TABLE sqluice_jobs_old;

-- Claims. kind is in the index, so that rows that no worker here can run cost a claim nothing.
CREATE INDEX sqluice_jobs_claim ON sqluice_jobs (queue, kind, priority DESC, run_after, id) WHERE status = 'pending';
-- The count of scheduled jobs, without a sort, and scheduled jobs that are due: of many that fall due at the same time the first ones by
-- id are claimable first. Of two indexes that cost the same the server takes the newer one, as it would for the next due job of an empty
-- table.
CREATE INDEX sqluice_jobs_scheduled ON sqluice_jobs (queue, kind, run_after) WHERE status = 'scheduled';
CREATE INDEX sqluice_jobs_due ON sqluice_jobs (run_after, id) WHERE status = 'scheduled';
-- Jobs that are cancelled when no attempt begins.
CREATE INDEX sqluice_jobs_start_by ON sqluice_jobs (start_by)
    WHERE start_by IS NOT NULL AND status IN ('scheduled', 'pending');
CREATE INDEX sqluice_jobs_running ON sqluice_jobs (worker_id) WHERE status = 'running' AND finished_at IS NULL;
CREATE INDEX sqluice_jobs_user ON sqluice_jobs (user_id, id) WHERE user_id IS NOT NULL;

-- +goose Down
ALTER TABLE sqluice_jobs RENAME CONSTRAINT sqluice_jobs_pkey TO sqluice_jobs_new_pkey;
ALTER SEQUENCE sqluice_jobs_id_seq RENAME TO sqluice_jobs_new_id_seq;
ALTER TABLE sqluice_jobs RENAME TO sqluice_jobs_new;
CREATE TABLE sqluice_jobs (
    id          BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind        TEXT   NOT NULL,
    payload     TEXT   NOT NULL DEFAULT '{}',
    status      TEXT   NOT NULL DEFAULT 'pending'
                CHECK (status IN ('scheduled', 'pending', 'running', 'done', 'failed', 'cancelled')),
    attempt     BIGINT NOT NULL DEFAULT 0,
    created_at  BIGINT NOT NULL DEFAULT (CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)),
    updated_at  BIGINT NOT NULL DEFAULT (CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)),
    started_at  BIGINT,
    finished_at BIGINT,
    priority    BIGINT NOT NULL DEFAULT 0,
    run_after   BIGINT NOT NULL DEFAULT 0
);
INSERT INTO sqluice_jobs (id, kind, payload, status, attempt, created_at, updated_at, started_at, finished_at, priority, run_after)
OVERRIDING SYSTEM VALUE
SELECT id, kind, payload, status, attempt, created_at, updated_at, started_at, finished_at, priority, run_after FROM sqluice_jobs_new;
SELECT setval('sqluice_jobs_id_seq', s.last_value, s.is_called) FROM sqluice_jobs_new_id_seq AS s;
DROP TABLE sqluice_jobs_new;
CREATE INDEX sqluice_jobs_claim ON sqluice_jobs (priority DESC, run_after, id) WHERE status = 'pending';
CREATE INDEX sqluice_jobs_due ON sqluice_jobs (run_after, id) WHERE status = 'scheduled';
DROP FUNCTION sqluice_ids(TEXT);
DROP DOMAIN sqluice_run_after;
DROP DOMAIN sqluice_time;
DROP DOMAIN sqluice_timeout;
DROP DOMAIN sqluice_attempts;
DROP DOMAIN sqluice_priority;
DROP DOMAIN sqluice_count;
DROP DOMAIN sqluice_id;
DROP DOMAIN sqluice_status;
DROP DOMAIN sqluice_json;
DROP FUNCTION sqluice_json_depth(TEXT);
DROP DOMAIN sqluice_text;
DROP DOMAIN sqluice_key;
DROP DOMAIN sqluice_name;
