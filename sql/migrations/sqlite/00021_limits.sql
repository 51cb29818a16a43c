-- +goose Up
-- Limits: how many jobs of a kind and a key run at once, and how many of them start in a time, in all processes together. A job with a
-- limit_key is never pending. Once due it is waiting, until a claim finds room for its key. An INSERT adds it scheduled, which is the
-- default. An empty key is the one of the jobs of a kind that name none.
ALTER TABLE sqluice_jobs ADD COLUMN limit_key
    TEXT CONSTRAINT a_job_with_a_limit_key_is_scheduled_first
    CHECK (limit_key IS NULL OR length(limit_key) <= 200 AND instr(limit_key, char(0)) = 0 AND status <> 'pending');

-- SQLite changes no CHECK. Its documentation names this way for a CHECK that becomes wider, whose rows stay as they are.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, 'OR status = ''deleted''),', 'OR status = ''deleted'' OR status = ''waiting''),')
WHERE type = 'table' AND name = 'sqluice_jobs';
PRAGMA writable_schema = RESET;

-- The jobs of a lane, best first, and the running jobs of a key.
CREATE INDEX sqluice_jobs_lane ON sqluice_jobs (kind, limit_key, queue, priority DESC, run_after, id) WHERE status = 'waiting';
CREATE INDEX sqluice_jobs_limited ON sqluice_jobs (kind, limit_key) WHERE limit_key IS NOT NULL AND status = 'running';
-- Jobs with a limit key that fall due become waiting, in a statement of their own.
CREATE INDEX sqluice_jobs_limited_due ON sqluice_jobs (run_after) WHERE limit_key IS NOT NULL AND status = 'scheduled';
-- The jobs of a key that have not started, and its failed ones, in the order of their ids: see the columns depth and ordered of
-- sqluice_limits.
CREATE INDEX sqluice_jobs_sequence ON sqluice_jobs (kind, limit_key, id)
    WHERE limit_key IS NOT NULL AND status IN ('scheduled', 'waiting');
CREATE INDEX sqluice_jobs_limited_failed ON sqluice_jobs (kind, limit_key, id) WHERE limit_key IS NOT NULL AND status = 'failed';
DROP INDEX sqluice_jobs_due;
CREATE INDEX sqluice_jobs_due ON sqluice_jobs (run_after) WHERE status = 'scheduled' AND limit_key IS NULL;
-- A waiting job holds its unique key, and expires.
DROP INDEX sqluice_jobs_unique;
CREATE UNIQUE INDEX sqluice_jobs_unique ON sqluice_jobs (kind, unique_key)
    WHERE unique_key IS NOT NULL AND successor_at IS NULL AND status IN ('scheduled', 'waiting', 'pending', 'running');
DROP INDEX sqluice_jobs_start_by;
CREATE INDEX sqluice_jobs_start_by ON sqluice_jobs (start_by)
    WHERE start_by IS NOT NULL AND status IN ('scheduled', 'waiting', 'pending');

-- The limits that people have set; they go before the limits that programs declare. scope says what a limit bounds: 'kind' the jobs of each
-- key of a kind by itself, 'total' all jobs of a kind together, 'queue' all jobs of a queue together. A job starts when all that concern it
-- have room. In scope 'kind' the row with an empty key is for all keys without a row of their own, and for the jobs that name no key.
-- Unless ordered is empty the jobs of a key run one by one, in the order of their ids. It says what happens when one has failed: 'hold'
-- starts no other, 'skip' the next one, and 'cancel' cancels all those that have not started.
CREATE TABLE sqluice_limits (
    scope     TEXT    NOT NULL CHECK (scope IN ('kind', 'total', 'queue')),
    name      TEXT    NOT NULL CHECK (length(name) BETWEEN 1 AND 200 AND instr(name, char(0)) = 0), -- of the kind or the queue
    limit_key TEXT    NOT NULL CHECK (length(limit_key) <= 200 AND instr(limit_key, char(0)) = 0),
    running   INTEGER NOT NULL DEFAULT 0 CHECK (running BETWEEN 0 AND 1000000000), -- the most jobs at once; 0: any number
    starts    INTEGER NOT NULL DEFAULT 0 CHECK (starts BETWEEN 0 AND 1000000),     -- starts in a period; 0: any number
    period    INTEGER NOT NULL DEFAULT 0 CHECK (period BETWEEN 0 AND 86400000000), -- in microseconds
    burst     INTEGER NOT NULL DEFAULT 0 CHECK (burst BETWEEN 0 AND 1000000),      -- the most starts at one time; 0: one
    weight    INTEGER NOT NULL DEFAULT 0 CHECK (weight BETWEEN 0 AND 1000),        -- the share of a key in a round; 0: one
    depth     INTEGER NOT NULL DEFAULT 0 CHECK (depth BETWEEN 0 AND 1000000000), -- the most that wait; 0: any number
    on_full   TEXT    NOT NULL DEFAULT '' CHECK (on_full IN ('', 'refuse', 'drop')), -- what an enqueue beyond that does
    ordered   TEXT    NOT NULL DEFAULT '' CHECK (ordered IN ('', 'hold', 'skip', 'cancel')), -- see below
    set_at    INTEGER NOT NULL CONSTRAINT set_at_is_in_unix_microseconds
                 CHECK (set_at BETWEEN 100000000000000 AND 253402300799999999 OR set_at = 0),
    CHECK (running > 0 OR starts > 0 OR weight > 0 OR depth > 0),
    CHECK ((starts = 0) = (period = 0)),
    CHECK (burst = 0 OR starts > 0),
    CHECK (scope = 'kind' OR limit_key = '' AND weight = 0 AND ordered = '' AND depth = 0),
    CHECK ((depth = 0) = (on_full = '')),
    CHECK (ordered = '' OR running = 1),
    PRIMARY KEY (scope, name, limit_key)
) STRICT, WITHOUT ROWID;

-- The limits of whole kinds and queues: their pending jobs get an empty key.
CREATE INDEX sqluice_limits_whole ON sqluice_limits (scope, name) WHERE limit_key = '';

-- What a claim must know of a limit's key. paid_until is the time until which its starts have used up its rate (GCRA's theoretical arrival
-- time). Until closed_until none of its jobs starts. Failed jobs up to passed_id no longer hold its sequence. A claim locks the row.
CREATE TABLE sqluice_limit_keys (
    scope        TEXT    NOT NULL CHECK (scope IN ('kind', 'total', 'queue')),
    name         TEXT    NOT NULL CHECK (length(name) BETWEEN 1 AND 200 AND instr(name, char(0)) = 0),
    limit_key    TEXT    NOT NULL CHECK (length(limit_key) <= 200 AND instr(limit_key, char(0)) = 0),
    paid_until   INTEGER NOT NULL DEFAULT 0
                 CONSTRAINT paid_until_is_in_unix_microseconds
                 CHECK (paid_until BETWEEN 100000000000000 AND 253402300799999999 OR paid_until = 0),
    closed_until INTEGER NOT NULL DEFAULT 0
                 CONSTRAINT closed_until_is_in_unix_microseconds
                 CHECK (closed_until BETWEEN 100000000000000 AND 253402300799999999 OR closed_until = 0),
    passed_id    INTEGER NOT NULL DEFAULT 0 CHECK (passed_id >= 0),
    PRIMARY KEY (scope, name, limit_key)
) STRICT, WITHOUT ROWID;

-- A row for the waiting jobs of each kind, key and queue, with the priority of the best of them. From ready_at on a claim looks at the
-- lane. NULL: once a job of the key has ended. held is 1 where the claim before found that the first job of the key could not start, or
-- that a failed one holds it: a drain does not wait for the lane.
CREATE TABLE sqluice_lanes (
    kind      TEXT    NOT NULL CHECK (length(kind) BETWEEN 1 AND 200 AND instr(kind, char(0)) = 0),
    limit_key TEXT    NOT NULL CHECK (length(limit_key) <= 200 AND instr(limit_key, char(0)) = 0),
    queue     TEXT    NOT NULL CHECK (length(queue) BETWEEN 1 AND 200 AND instr(queue, char(0)) = 0),
    priority  INTEGER NOT NULL CHECK (priority BETWEEN -32768 AND 32767),
    ready_at  INTEGER CONSTRAINT ready_at_is_in_unix_microseconds
                 CHECK (ready_at BETWEEN 100000000000000 AND 253402300799999999 OR ready_at = 0),
    held      INTEGER NOT NULL DEFAULT 0 CHECK (held IN (0, 1)),
    PRIMARY KEY (kind, limit_key, queue)
) STRICT, WITHOUT ROWID;

CREATE INDEX sqluice_lanes_ready ON sqluice_lanes (queue, kind, priority DESC, ready_at) WHERE ready_at IS NOT NULL;
CREATE INDEX sqluice_lanes_next ON sqluice_lanes (queue, kind, ready_at) WHERE ready_at IS NOT NULL;
CREATE INDEX sqluice_lanes_parked ON sqluice_lanes (kind, limit_key, queue) WHERE ready_at IS NULL;

-- The limit for each key of a kind that the newest program with a live worker declares, as sqluice_kind_settings has other settings.
CREATE VIEW sqluice_declared_limits AS
SELECT d.name AS kind,
       CAST(CASE json_type(d.body, '$.limit.running') WHEN 'integer' THEN d.body->'limit'->>'running' ELSE 0 END AS INTEGER) AS running,
       CAST(CASE json_type(d.body, '$.limit.starts') WHEN 'integer' THEN d.body->'limit'->>'starts' ELSE 0 END AS INTEGER) AS starts,
       CAST(CASE json_type(d.body, '$.limit.period') WHEN 'integer' THEN d.body->'limit'->>'period' ELSE 0 END AS INTEGER) AS period,
       CAST(CASE json_type(d.body, '$.limit.burst') WHEN 'integer' THEN d.body->'limit'->>'burst' ELSE 0 END AS INTEGER) AS burst,
       CAST(CASE json_type(d.body, '$.limit.weight') WHEN 'integer' THEN d.body->'limit'->>'weight' ELSE 0 END AS INTEGER) AS weight,
       CAST(CASE WHEN d.body->'limit'->>'ordered' IN ('hold', 'skip', 'cancel')
           THEN d.body->'limit'->>'ordered' ELSE '' END AS TEXT) AS ordered,
       CAST(CASE json_type(d.body, '$.limit.depth') WHEN 'integer' THEN d.body->'limit'->>'depth' ELSE 0 END AS INTEGER) AS depth,
       CAST(CASE d.body->'limit'->>'on_full' WHEN 'drop' THEN 'drop' ELSE 'refuse' END AS TEXT) AS on_full
FROM sqluice_declarations AS d WHERE d.subject = 'kind' AND d.in_force = 1 AND json_type(d.body, '$.limit') = 'object';

DROP VIEW sqluice_jobs_readable;
-- The jobs with their times as text, for people. The library never reads it.
CREATE VIEW sqluice_jobs_readable AS
SELECT id, queue, kind, payload, status, priority,
       strftime('%Y-%m-%dT%H:%M:%S', run_after / 1000000, 'unixepoch')
           || printf('.%06dZ', run_after % 1000000) AS run_after,
       strftime('%Y-%m-%dT%H:%M:%S', start_by / 1000000, 'unixepoch')
           || printf('.%06dZ', start_by % 1000000) AS start_by,
       attempt, uncounted, max_attempts, crashes, worker_id,
       strftime('%Y-%m-%dT%H:%M:%S', lease_until / 1000000, 'unixepoch')
           || printf('.%06dZ', lease_until % 1000000) AS lease_until,
       timeout, unique_key, request_id, user_id, tags, metadata, progress, result, last_error,
       strftime('%Y-%m-%dT%H:%M:%S', created_at / 1000000, 'unixepoch')
           || printf('.%06dZ', created_at % 1000000) AS created_at,
       strftime('%Y-%m-%dT%H:%M:%S', started_at / 1000000, 'unixepoch')
           || printf('.%06dZ', started_at % 1000000) AS started_at,
       strftime('%Y-%m-%dT%H:%M:%S', finished_at / 1000000, 'unixepoch')
           || printf('.%06dZ', finished_at % 1000000) AS finished_at,
       strftime('%Y-%m-%dT%H:%M:%S', updated_at / 1000000, 'unixepoch')
           || printf('.%06dZ', updated_at % 1000000) AS updated_at,
       strftime('%Y-%m-%dT%H:%M:%S', cancel_requested_at / 1000000, 'unixepoch')
           || printf('.%06dZ', cancel_requested_at % 1000000) AS cancel_requested_at,
       strftime('%Y-%m-%dT%H:%M:%S', successor_at / 1000000, 'unixepoch')
           || printf('.%06dZ', successor_at % 1000000) AS successor_at,
       limit_key
FROM sqluice_jobs WHERE status <> 'deleted';

DROP VIEW sqluice_backlog;
-- What waits, by queue and kind: waiting counts the jobs that are due, also those that a limit
-- holds, scheduled the jobs for later. oldest_at is when the first
-- waiting job fell due, next_at when the first scheduled job will.
CREATE VIEW sqluice_backlog AS
WITH clock (now) AS (SELECT CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000)
SELECT b.queue, b.kind, CAST(SUM(b.waiting) AS BIGINT) AS waiting, CAST(SUM(b.scheduled) AS BIGINT) AS scheduled,
       MIN(b.oldest_at) AS oldest_at,
       strftime('%Y-%m-%dT%H:%M:%SZ', MIN(b.oldest_at) / 1000000, 'unixepoch') AS oldest_at_text,
       (MIN(c.now) - MIN(b.oldest_at)) / 1000000 AS oldest_seconds,
       MIN(b.next_at) AS next_at,
       strftime('%Y-%m-%dT%H:%M:%SZ', MIN(b.next_at) / 1000000, 'unixepoch') AS next_at_text
FROM (
    SELECT p.queue, p.kind, COUNT(*) AS waiting, 0 AS scheduled,
           MIN(CASE p.run_after WHEN 0 THEN p.created_at ELSE p.run_after END) AS oldest_at, CAST(NULL AS BIGINT) AS next_at
    FROM sqluice_jobs AS p WHERE p.status = 'pending' GROUP BY p.queue, p.kind
    UNION ALL
    SELECT w.queue, w.kind, COUNT(*), 0, MIN(CASE w.run_after WHEN 0 THEN w.created_at ELSE w.run_after END), CAST(NULL AS BIGINT)
    FROM sqluice_jobs AS w WHERE w.status = 'waiting' GROUP BY w.queue, w.kind
    UNION ALL
    SELECT s.queue, s.kind, COUNT(CASE WHEN s.run_after <= d.now THEN 1 END), COUNT(CASE WHEN s.run_after > d.now THEN 1 END),
           MIN(CASE WHEN s.run_after <= d.now THEN CASE s.run_after WHEN 0 THEN s.created_at ELSE s.run_after END END),
           MIN(CASE WHEN s.run_after > d.now THEN s.run_after END)
    FROM sqluice_jobs AS s CROSS JOIN clock AS d WHERE s.status = 'scheduled' GROUP BY s.queue, s.kind
) AS b CROSS JOIN clock AS c
GROUP BY b.queue, b.kind;

-- A program of an earlier version would claim jobs beside their limits.
INSERT INTO sqluice_schema_versions (version, runs_from) VALUES (21, 21);

-- +goose Down
DELETE FROM sqluice_schema_versions WHERE version = 21;
DROP VIEW sqluice_backlog;
DROP VIEW sqluice_jobs_readable;
DROP VIEW sqluice_declared_limits;
DROP TABLE sqluice_lanes;
DROP TABLE sqluice_limit_keys;
DROP TABLE sqluice_limits;
DROP INDEX sqluice_jobs_start_by;
DROP INDEX sqluice_jobs_unique;
DROP INDEX sqluice_jobs_due;
DROP INDEX sqluice_jobs_limited_failed;
DROP INDEX sqluice_jobs_sequence;
DROP INDEX sqluice_jobs_limited_due;
DROP INDEX sqluice_jobs_limited;
DROP INDEX sqluice_jobs_lane;
-- Nothing holds the jobs any more.
UPDATE sqluice_jobs SET status = 'scheduled' WHERE status = 'waiting';
ALTER TABLE sqluice_jobs DROP COLUMN limit_key;
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, 'OR status = ''deleted'' OR status = ''waiting''),', 'OR status = ''deleted''),')
WHERE type = 'table' AND name = 'sqluice_jobs';
PRAGMA writable_schema = RESET;
CREATE INDEX sqluice_jobs_due ON sqluice_jobs (run_after) WHERE status = 'scheduled';
CREATE UNIQUE INDEX sqluice_jobs_unique ON sqluice_jobs (kind, unique_key)
    WHERE unique_key IS NOT NULL AND successor_at IS NULL AND status IN ('scheduled', 'pending', 'running');
CREATE INDEX sqluice_jobs_start_by ON sqluice_jobs (start_by)
    WHERE start_by IS NOT NULL AND status IN ('scheduled', 'pending');
-- The jobs with their times as text, for people. The library never reads it.
CREATE VIEW sqluice_jobs_readable AS
SELECT id, queue, kind, payload, status, priority,
       strftime('%Y-%m-%dT%H:%M:%S', run_after / 1000000, 'unixepoch')
           || printf('.%06dZ', run_after % 1000000) AS run_after,
       strftime('%Y-%m-%dT%H:%M:%S', start_by / 1000000, 'unixepoch')
           || printf('.%06dZ', start_by % 1000000) AS start_by,
       attempt, uncounted, max_attempts, crashes, worker_id,
       strftime('%Y-%m-%dT%H:%M:%S', lease_until / 1000000, 'unixepoch')
           || printf('.%06dZ', lease_until % 1000000) AS lease_until,
       timeout, unique_key, request_id, user_id, tags, metadata, progress, result, last_error,
       strftime('%Y-%m-%dT%H:%M:%S', created_at / 1000000, 'unixepoch')
           || printf('.%06dZ', created_at % 1000000) AS created_at,
       strftime('%Y-%m-%dT%H:%M:%S', started_at / 1000000, 'unixepoch')
           || printf('.%06dZ', started_at % 1000000) AS started_at,
       strftime('%Y-%m-%dT%H:%M:%S', finished_at / 1000000, 'unixepoch')
           || printf('.%06dZ', finished_at % 1000000) AS finished_at,
       strftime('%Y-%m-%dT%H:%M:%S', updated_at / 1000000, 'unixepoch')
           || printf('.%06dZ', updated_at % 1000000) AS updated_at,
       strftime('%Y-%m-%dT%H:%M:%S', cancel_requested_at / 1000000, 'unixepoch')
           || printf('.%06dZ', cancel_requested_at % 1000000) AS cancel_requested_at,
       strftime('%Y-%m-%dT%H:%M:%S', successor_at / 1000000, 'unixepoch')
           || printf('.%06dZ', successor_at % 1000000) AS successor_at
FROM sqluice_jobs WHERE status <> 'deleted';

-- What waits, by queue and kind: waiting counts the jobs that are due, scheduled the jobs for later. oldest_at is when the first
-- waiting job fell due, next_at when the first scheduled job will.
CREATE VIEW sqluice_backlog AS
WITH clock (now) AS (SELECT CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000)
SELECT b.queue, b.kind, CAST(SUM(b.waiting) AS BIGINT) AS waiting, CAST(SUM(b.scheduled) AS BIGINT) AS scheduled,
       MIN(b.oldest_at) AS oldest_at,
       strftime('%Y-%m-%dT%H:%M:%SZ', MIN(b.oldest_at) / 1000000, 'unixepoch') AS oldest_at_text,
       (MIN(c.now) - MIN(b.oldest_at)) / 1000000 AS oldest_seconds,
       MIN(b.next_at) AS next_at,
       strftime('%Y-%m-%dT%H:%M:%SZ', MIN(b.next_at) / 1000000, 'unixepoch') AS next_at_text
FROM (
    SELECT p.queue, p.kind, COUNT(*) AS waiting, 0 AS scheduled,
           MIN(CASE p.run_after WHEN 0 THEN p.created_at ELSE p.run_after END) AS oldest_at, CAST(NULL AS BIGINT) AS next_at
    FROM sqluice_jobs AS p WHERE p.status = 'pending' GROUP BY p.queue, p.kind
    UNION ALL
    SELECT s.queue, s.kind, COUNT(CASE WHEN s.run_after <= d.now THEN 1 END), COUNT(CASE WHEN s.run_after > d.now THEN 1 END),
           MIN(CASE WHEN s.run_after <= d.now THEN CASE s.run_after WHEN 0 THEN s.created_at ELSE s.run_after END END),
           MIN(CASE WHEN s.run_after > d.now THEN s.run_after END)
    FROM sqluice_jobs AS s CROSS JOIN clock AS d WHERE s.status = 'scheduled' GROUP BY s.queue, s.kind
) AS b CROSS JOIN clock AS c
GROUP BY b.queue, b.kind;
