-- +goose Up
-- What a column may hold is the matter of its domain, which looks at a value when it is assigned. The CHECKs of a table
-- are parsed anew by each statement that writes to it, and look at all columns of each row, also at a payload that did
-- not change: that was two fifths of what a claim and a finish of one job cost the server. The domains get their
-- constraints after the columns have them, and not validated: so no row is rewritten, and what is there was checked when
-- it was written.
CREATE DOMAIN jobs_name AS TEXT;
CREATE DOMAIN jobs_key AS TEXT;
CREATE DOMAIN jobs_json AS TEXT;
CREATE DOMAIN jobs_status AS TEXT;
CREATE DOMAIN jobs_count AS BIGINT;
CREATE DOMAIN jobs_timeout AS BIGINT;
CREATE DOMAIN jobs_id AS BIGINT;
CREATE DOMAIN jobs_text AS TEXT;
CREATE DOMAIN jobs_attempts AS BIGINT;
CREATE DOMAIN jobs_priority AS BIGINT;
CREATE DOMAIN jobs_time AS BIGINT;

DROP VIEW jobs_readable;
DROP TRIGGER jobs_not_due ON jobs;
ALTER TABLE jobs
    DROP CONSTRAINT jobs_kind_check,
    DROP CONSTRAINT jobs_queue_check,
    DROP CONSTRAINT jobs_unique_key_check,
    DROP CONSTRAINT jobs_request_id_check,
    DROP CONSTRAINT jobs_user_id_check,
    DROP CONSTRAINT jobs_payload_check,
    DROP CONSTRAINT jobs_tags_check,
    DROP CONSTRAINT jobs_metadata_check,
    DROP CONSTRAINT jobs_progress_check,
    DROP CONSTRAINT jobs_result_check,
    DROP CONSTRAINT jobs_status_check,
    DROP CONSTRAINT jobs_attempt_check,
    DROP CONSTRAINT jobs_crashes_check,
    DROP CONSTRAINT jobs_uncounted_check,
    DROP CONSTRAINT jobs_timeout_check,
    DROP CONSTRAINT jobs_max_attempts_check,
    DROP CONSTRAINT jobs_priority_check,
    DROP CONSTRAINT jobs_run_after_check;
ALTER TABLE jobs
    ALTER COLUMN kind TYPE jobs_name,
    ALTER COLUMN queue TYPE jobs_name,
    ALTER COLUMN unique_key TYPE jobs_key,
    ALTER COLUMN request_id TYPE jobs_key,
    ALTER COLUMN user_id TYPE jobs_key,
    ALTER COLUMN payload TYPE jobs_json,
    ALTER COLUMN tags TYPE jobs_json,
    ALTER COLUMN metadata TYPE jobs_json,
    ALTER COLUMN progress TYPE jobs_json,
    ALTER COLUMN result TYPE jobs_json,
    ALTER COLUMN status TYPE jobs_status,
    ALTER COLUMN attempt TYPE jobs_count,
    ALTER COLUMN crashes TYPE jobs_count,
    ALTER COLUMN uncounted TYPE jobs_count,
    ALTER COLUMN timeout TYPE jobs_timeout,
    ALTER COLUMN max_attempts TYPE jobs_attempts,
    ALTER COLUMN priority TYPE jobs_priority,
    ALTER COLUMN run_after TYPE jobs_time,
    ALTER COLUMN created_at TYPE jobs_time,
    ALTER COLUMN updated_at TYPE jobs_time,
    ALTER COLUMN started_at TYPE jobs_time,
    ALTER COLUMN finished_at TYPE jobs_time,
    ALTER COLUMN lease_until TYPE jobs_time,
    ALTER COLUMN cancel_requested_at TYPE jobs_time,
    ALTER COLUMN worker_id TYPE jobs_id,
    ALTER COLUMN last_error TYPE jobs_text;
ALTER DOMAIN jobs_name ADD CONSTRAINT jobs_name_check CHECK (length(VALUE) BETWEEN 1 AND 200 AND VALUE !~ '[\u0001-\u001f\u007f-\u009f]') NOT VALID;
ALTER DOMAIN jobs_key ADD CONSTRAINT jobs_key_check CHECK (length(VALUE) BETWEEN 1 AND 1000 AND VALUE !~ '[\u0001-\u001f\u007f-\u009f]') NOT VALID;
ALTER DOMAIN jobs_json ADD CONSTRAINT jobs_json_check CHECK (VALUE IS NULL OR CAST(VALUE AS json) IS NOT NULL AND octet_length(VALUE) <= 1048576) NOT VALID;
ALTER DOMAIN jobs_status ADD CONSTRAINT jobs_status_check CHECK (VALUE = 'pending' OR VALUE = 'running' OR VALUE = 'done'
           OR VALUE = 'scheduled' OR VALUE = 'failed' OR VALUE = 'cancelled') NOT VALID;
ALTER DOMAIN jobs_count ADD CONSTRAINT jobs_count_check CHECK (VALUE BETWEEN 0 AND 1000000000) NOT VALID;
ALTER DOMAIN jobs_timeout ADD CONSTRAINT jobs_timeout_check CHECK (VALUE BETWEEN 0 AND 9223372036854775) NOT VALID;
ALTER DOMAIN jobs_id ADD CONSTRAINT jobs_id_check CHECK (VALUE BETWEEN 1 AND 9007199254740991) NOT VALID;
ALTER DOMAIN jobs_text ADD CONSTRAINT jobs_text_check CHECK (octet_length(VALUE) <= 1048576) NOT VALID;
ALTER DOMAIN jobs_attempts ADD CONSTRAINT jobs_attempts_check CHECK (VALUE BETWEEN 1 AND 32767) NOT VALID;
ALTER DOMAIN jobs_priority ADD CONSTRAINT jobs_priority_check CHECK (VALUE BETWEEN -32768 AND 32767) NOT VALID;
ALTER DOMAIN jobs_time ADD CONSTRAINT jobs_time_check CHECK (VALUE BETWEEN 0 AND 253402300799999999) NOT VALID;

CREATE TRIGGER jobs_not_due BEFORE INSERT ON jobs FOR EACH ROW
    WHEN (NEW.status = 'pending' AND NEW.run_after > NEW.created_at)
    EXECUTE FUNCTION jobs_not_due();

-- The jobs with their times as text, for people. The library never reads it.
CREATE VIEW jobs_readable AS
SELECT id, queue, kind, payload, status, priority,
       to_char(to_timestamp(run_after / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') || to_char(run_after % 1000000, '"."FM000000"Z"') AS run_after,
       attempt, uncounted, max_attempts, crashes, worker_id,
       to_char(to_timestamp(lease_until / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') || to_char(lease_until % 1000000, '"."FM000000"Z"') AS lease_until,
       timeout, unique_key, request_id, user_id, tags, metadata, progress, result, last_error,
       to_char(to_timestamp(created_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') || to_char(created_at % 1000000, '"."FM000000"Z"') AS created_at,
       to_char(to_timestamp(started_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') || to_char(started_at % 1000000, '"."FM000000"Z"') AS started_at,
       to_char(to_timestamp(finished_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') || to_char(finished_at % 1000000, '"."FM000000"Z"') AS finished_at,
       to_char(to_timestamp(updated_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') || to_char(updated_at % 1000000, '"."FM000000"Z"') AS updated_at,
       to_char(to_timestamp(cancel_requested_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') || to_char(cancel_requested_at % 1000000, '"."FM000000"Z"') AS cancel_requested_at
FROM jobs;

-- What deletes the errors of deleted jobs. A foreign key would do it as well, and look at each job that is claimed or
-- finished whether its id has changed.
ALTER TABLE job_errors DROP CONSTRAINT job_errors_job_id_fkey;
-- +goose StatementBegin
CREATE FUNCTION jobs_delete_errors() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        EXECUTE format('DELETE FROM %I.job_errors', TG_TABLE_SCHEMA);
    ELSE
        EXECUTE format('DELETE FROM %I.job_errors AS e USING deleted AS d WHERE e.job_id = d.id', TG_TABLE_SCHEMA);
    END IF;
    RETURN NULL;
END;
$$;
-- +goose StatementEnd
CREATE TRIGGER jobs_delete_errors AFTER DELETE ON jobs REFERENCING OLD TABLE AS deleted
    FOR EACH STATEMENT EXECUTE FUNCTION jobs_delete_errors();
-- A foreign key refuses this one. Errors that stay would be those of later jobs with the same ids, which a rescue goes by.
CREATE TRIGGER jobs_truncate_errors AFTER TRUNCATE ON jobs
    FOR EACH STATEMENT EXECUTE FUNCTION jobs_delete_errors();

-- +goose Down
DROP TRIGGER jobs_truncate_errors ON jobs;
DROP TRIGGER jobs_delete_errors ON jobs;
DROP FUNCTION jobs_delete_errors();
DELETE FROM job_errors AS e WHERE NOT EXISTS (SELECT 1 FROM jobs AS j WHERE j.id = e.job_id);
ALTER TABLE job_errors ADD FOREIGN KEY (job_id) REFERENCES jobs (id) ON DELETE CASCADE;

DROP VIEW jobs_readable;
DROP TRIGGER jobs_not_due ON jobs;
ALTER TABLE jobs
    ALTER COLUMN kind TYPE TEXT,
    ALTER COLUMN queue TYPE TEXT,
    ALTER COLUMN unique_key TYPE TEXT,
    ALTER COLUMN request_id TYPE TEXT,
    ALTER COLUMN user_id TYPE TEXT,
    ALTER COLUMN payload TYPE TEXT,
    ALTER COLUMN tags TYPE TEXT,
    ALTER COLUMN metadata TYPE TEXT,
    ALTER COLUMN progress TYPE TEXT,
    ALTER COLUMN result TYPE TEXT,
    ALTER COLUMN status TYPE TEXT,
    ALTER COLUMN attempt TYPE BIGINT,
    ALTER COLUMN crashes TYPE BIGINT,
    ALTER COLUMN uncounted TYPE BIGINT,
    ALTER COLUMN timeout TYPE BIGINT,
    ALTER COLUMN max_attempts TYPE BIGINT,
    ALTER COLUMN priority TYPE BIGINT,
    ALTER COLUMN run_after TYPE BIGINT,
    ALTER COLUMN created_at TYPE BIGINT,
    ALTER COLUMN updated_at TYPE BIGINT,
    ALTER COLUMN started_at TYPE BIGINT,
    ALTER COLUMN finished_at TYPE BIGINT,
    ALTER COLUMN lease_until TYPE BIGINT,
    ALTER COLUMN cancel_requested_at TYPE BIGINT,
    ALTER COLUMN worker_id TYPE BIGINT,
    ALTER COLUMN last_error TYPE TEXT;
ALTER TABLE jobs
    ADD CONSTRAINT jobs_kind_check CHECK (length(kind) BETWEEN 1 AND 200),
    ADD CONSTRAINT jobs_queue_check CHECK (length(queue) BETWEEN 1 AND 200),
    ADD CONSTRAINT jobs_unique_key_check CHECK (length(unique_key) BETWEEN 1 AND 1000),
    ADD CONSTRAINT jobs_request_id_check CHECK (length(request_id) BETWEEN 1 AND 1000),
    ADD CONSTRAINT jobs_user_id_check CHECK (length(user_id) BETWEEN 1 AND 1000),
    ADD CONSTRAINT jobs_payload_check CHECK (CAST(payload AS json) IS NOT NULL),
    ADD CONSTRAINT jobs_tags_check CHECK (tags IS NULL OR CAST(tags AS json) IS NOT NULL),
    ADD CONSTRAINT jobs_metadata_check CHECK (metadata IS NULL OR CAST(metadata AS json) IS NOT NULL),
    ADD CONSTRAINT jobs_progress_check CHECK (progress IS NULL OR CAST(progress AS json) IS NOT NULL),
    ADD CONSTRAINT jobs_result_check CHECK (result IS NULL OR CAST(result AS json) IS NOT NULL),
    ADD CONSTRAINT jobs_status_check CHECK (status = 'pending' OR status = 'running' OR status = 'done'
               OR status = 'scheduled' OR status = 'failed' OR status = 'cancelled'),
    ADD CONSTRAINT jobs_attempt_check CHECK (attempt >= 0),
    ADD CONSTRAINT jobs_crashes_check CHECK (crashes >= 0),
    ADD CONSTRAINT jobs_uncounted_check CHECK (uncounted >= 0),
    ADD CONSTRAINT jobs_timeout_check CHECK (timeout >= 0),
    ADD CONSTRAINT jobs_max_attempts_check CHECK (max_attempts BETWEEN 1 AND 32767),
    ADD CONSTRAINT jobs_priority_check CHECK (priority BETWEEN -32768 AND 32767),
    ADD CONSTRAINT jobs_run_after_check CHECK (run_after BETWEEN 0 AND 253402300799999999);
DROP DOMAIN jobs_name;
DROP DOMAIN jobs_key;
DROP DOMAIN jobs_json;
DROP DOMAIN jobs_status;
DROP DOMAIN jobs_count;
DROP DOMAIN jobs_timeout;
DROP DOMAIN jobs_id;
DROP DOMAIN jobs_text;
DROP DOMAIN jobs_attempts;
DROP DOMAIN jobs_priority;
DROP DOMAIN jobs_time;

CREATE TRIGGER jobs_not_due BEFORE INSERT ON jobs FOR EACH ROW
    WHEN (NEW.status = 'pending' AND NEW.run_after > NEW.created_at)
    EXECUTE FUNCTION jobs_not_due();

-- The jobs with their times as text, for people. The library never reads it.
CREATE VIEW jobs_readable AS
SELECT id, queue, kind, payload, status, priority,
       to_char(to_timestamp(run_after / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') || to_char(run_after % 1000000, '"."FM000000"Z"') AS run_after,
       attempt, uncounted, max_attempts, crashes, worker_id,
       to_char(to_timestamp(lease_until / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') || to_char(lease_until % 1000000, '"."FM000000"Z"') AS lease_until,
       timeout, unique_key, request_id, user_id, tags, metadata, progress, result, last_error,
       to_char(to_timestamp(created_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') || to_char(created_at % 1000000, '"."FM000000"Z"') AS created_at,
       to_char(to_timestamp(started_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') || to_char(started_at % 1000000, '"."FM000000"Z"') AS started_at,
       to_char(to_timestamp(finished_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') || to_char(finished_at % 1000000, '"."FM000000"Z"') AS finished_at,
       to_char(to_timestamp(updated_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') || to_char(updated_at % 1000000, '"."FM000000"Z"') AS updated_at,
       to_char(to_timestamp(cancel_requested_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') || to_char(cancel_requested_at % 1000000, '"."FM000000"Z"') AS cancel_requested_at
FROM jobs;
