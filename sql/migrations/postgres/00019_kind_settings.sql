-- +goose Up
-- What counts for the jobs of a kind that do not say it themselves: what the newest program with a live worker declares, or else what was
-- declared last. 0 and an empty text stand for what it does not declare, and for what is not of the type. timeout is in microseconds.
CREATE VIEW sqluice_kind_settings AS
SELECT CAST(d.name AS TEXT) AS kind,
       CAST(CASE WHEN CAST(d.body->'max_attempts' AS TEXT) ~ '^-?[0-9]{1,18}$' THEN d.body->>'max_attempts' ELSE '0' END AS BIGINT)
           AS max_attempts,
       CAST(CASE WHEN CAST(d.body->'timeout' AS TEXT) ~ '^-?[0-9]{1,18}$' THEN d.body->>'timeout' ELSE '0' END AS BIGINT) AS timeout,
       CAST(CASE json_typeof(d.body->'queue') WHEN 'string' THEN d.body->>'queue' ELSE '' END AS TEXT) AS queue,
       CAST(CASE WHEN CAST(d.body->'priority' AS TEXT) ~ '^-?[0-9]{1,18}$' THEN d.body->>'priority' ELSE '0' END AS BIGINT) AS priority
FROM (
    /* The server's json reads neither a NUL nor half a surrogate. chr(92) is the backslash, whatever standard_conforming_strings says. */
    SELECT name, CAST(CASE WHEN body ~ (repeat(chr(92), 2) || 'u(0000|[dD][89a-fA-F])') THEN '{}' ELSE body END AS json) AS body
    FROM sqluice_declarations WHERE subject = 'kind' AND in_force = 1
) AS d;

-- The views for people have the number of attempts that counts. OR REPLACE keeps their grants.
-- What runs: each job with its worker and its start. The worker must give a sign of life before lease_until.
CREATE OR REPLACE VIEW sqluice_running AS
SELECT j.id, j.queue, j.kind, j.user_id, j.attempt,
       CASE WHEN j.max_attempts > 0 THEN j.max_attempts ELSE COALESCE(
           (SELECT k.max_attempts FROM sqluice_kind_settings AS k WHERE k.kind = j.kind AND k.max_attempts > 0), 25) END AS max_attempts,
       j.crashes, j.worker_id, w.name AS worker, w.host, w.pid,
       j.started_at,
       to_char(to_timestamp(j.started_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS started_at_text,
       (CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS BIGINT) - j.started_at) / 1000000 AS running_seconds,
       j.lease_until,
       to_char(to_timestamp(j.lease_until / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS lease_until_text,
       j.cancel_requested_at,
       to_char(to_timestamp(j.cancel_requested_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS cancel_requested_at_text,
       j.progress
FROM sqluice_jobs AS j LEFT JOIN sqluice_workers AS w ON w.id = j.worker_id
WHERE j.status = 'running' AND j.finished_at IS NULL;

-- What failed for good: each job with its worker, and the cause and the first 200 characters of the error of its last attempt.
CREATE OR REPLACE VIEW sqluice_failures AS
SELECT j.id, j.queue, j.kind, j.user_id, j.attempt,
       CASE WHEN j.max_attempts > 0 THEN j.max_attempts ELSE COALESCE(
           (SELECT k.max_attempts FROM sqluice_kind_settings AS k WHERE k.kind = j.kind AND k.max_attempts > 0), 25) END AS max_attempts,
       j.crashes,
       (SELECT e.cause FROM sqluice_job_errors AS e WHERE e.job_id = j.id AND e.cause NOT IN ('snoozed', 'released', 'cancelled', 'unable')
        ORDER BY e.attempt DESC, e.id DESC LIMIT 1) AS cause,
       substr(j.last_error, 1, 200) AS error, j.worker_id, w.name AS worker, w.host,
       j.created_at,
       to_char(to_timestamp(j.created_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS created_at_text,
       j.finished_at,
       to_char(to_timestamp(j.finished_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS finished_at_text
FROM sqluice_jobs AS j LEFT JOIN sqluice_workers AS w ON w.id = j.worker_id
WHERE j.status = 'failed';

INSERT INTO sqluice_schema_versions (version, runs_from) VALUES (19, 18);

-- +goose Down
DELETE FROM sqluice_schema_versions WHERE version = 19;
-- What runs: each job with its worker and its start. The worker must give a sign of life before lease_until.
CREATE OR REPLACE VIEW sqluice_running AS
SELECT j.id, j.queue, j.kind, j.user_id, j.attempt,
       CASE j.max_attempts WHEN 0 THEN 25 ELSE j.max_attempts END AS max_attempts, j.crashes, j.worker_id, w.name AS worker, w.host, w.pid,
       j.started_at,
       to_char(to_timestamp(j.started_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS started_at_text,
       (CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS BIGINT) - j.started_at) / 1000000 AS running_seconds,
       j.lease_until,
       to_char(to_timestamp(j.lease_until / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS lease_until_text,
       j.cancel_requested_at,
       to_char(to_timestamp(j.cancel_requested_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS cancel_requested_at_text,
       j.progress
FROM sqluice_jobs AS j LEFT JOIN sqluice_workers AS w ON w.id = j.worker_id
WHERE j.status = 'running' AND j.finished_at IS NULL;

-- What failed for good: each job with its worker, and the cause and the first 200 characters of the error of its last attempt.
CREATE OR REPLACE VIEW sqluice_failures AS
SELECT j.id, j.queue, j.kind, j.user_id, j.attempt,
       CASE j.max_attempts WHEN 0 THEN 25 ELSE j.max_attempts END AS max_attempts, j.crashes,
       (SELECT e.cause FROM sqluice_job_errors AS e WHERE e.job_id = j.id AND e.cause NOT IN ('snoozed', 'released', 'cancelled', 'unable')
        ORDER BY e.attempt DESC, e.id DESC LIMIT 1) AS cause,
       substr(j.last_error, 1, 200) AS error, j.worker_id, w.name AS worker, w.host,
       j.created_at,
       to_char(to_timestamp(j.created_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS created_at_text,
       j.finished_at,
       to_char(to_timestamp(j.finished_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS finished_at_text
FROM sqluice_jobs AS j LEFT JOIN sqluice_workers AS w ON w.id = j.worker_id
WHERE j.status = 'failed';

DROP VIEW sqluice_kind_settings;
