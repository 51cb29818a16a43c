-- +goose Up
-- The complete table of a job. SQLite adds no column with such a default, and no rule, so the table is made anew, here and nowhere else:
-- later migrations add to it. A plain INSERT of any language adds a good job: what the library refuses, the CHECKs refuse.
CREATE TABLE sqluice_jobs_new (
    id                  INTEGER PRIMARY KEY,           -- never that of another job, also of a deleted one
    -- What to do.
    queue               TEXT    NOT NULL DEFAULT 'default',
    kind                TEXT    NOT NULL,              -- the name of the handler
    payload             TEXT    NOT NULL DEFAULT '{}', -- the input of the handler: JSON of at most 1 MiB
    max_attempts        INTEGER NOT NULL DEFAULT 0,    -- the job fails with this attempt; 0 for the number of the kind, or else 25
    timeout             INTEGER NOT NULL DEFAULT 0,    -- of an attempt, in microseconds; 0 for the timeout of the kind
    -- When to do it, in unix microseconds, UTC. A worker makes a scheduled job pending when it is due, and claims it then.
    status              TEXT    NOT NULL DEFAULT 'scheduled',
    priority            INTEGER NOT NULL DEFAULT 0,    -- higher runs first
    -- Not before this time. 0 is at once. Other times begin in March 1973, which milliseconds do not reach, and end with the year 9999.
    run_after           INTEGER NOT NULL DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000),
    start_by            INTEGER,                       -- the job is cancelled when no attempt has begun by this time
    successor_at        INTEGER,                       -- the run_after of a job that waits for the end of another with its unique_key
    -- By which worker.
    attempt             INTEGER NOT NULL DEFAULT 0,    -- counts the claims: only the worker of the last one may write
    uncounted           INTEGER NOT NULL DEFAULT 0,    -- the attempts that max_attempts does not count: snoozed, released or unable
    crashes             INTEGER NOT NULL DEFAULT 0,    -- the attempts in which the process died
    worker_id           INTEGER,                       -- the worker of the last attempt
    lease_until         INTEGER,                       -- after this time others may take the job from that worker
    cancel_requested_at INTEGER,                       -- the worker is to stop the attempt
    -- For which caller.
    unique_key          TEXT,                          -- one live job of a kind has it
    request_id          TEXT,                          -- one job of a kind has it: a repeated request adds no second job
    user_id             TEXT,                          -- the user of the application
    tags                TEXT,                          -- JSON
    metadata            TEXT,                          -- JSON
    -- What came of it.
    progress            TEXT,                          -- JSON, written by the handler
    result              TEXT,                          -- JSON, returned by the handler
    last_error          TEXT,
    created_at          INTEGER NOT NULL DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000),
    started_at          INTEGER,                       -- when the last attempt began
    finished_at         INTEGER,                       -- when the job was done, failed or was cancelled
    updated_at          INTEGER NOT NULL DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000),
    -- The rules.
    CONSTRAINT id_is_from_1_to_9007199254740991 CHECK (id BETWEEN 1 AND 9007199254740991),
    CHECK (queue = 'default' OR length(queue) BETWEEN 1 AND 200 AND instr(queue, char(0)) = 0),
    CHECK (length(kind) BETWEEN 1 AND 200 AND instr(kind, char(0)) = 0),
    CHECK (json_valid(payload) AND instr(payload, char(0)) = 0 AND (length(CAST(payload AS BLOB)) <= 1048576
        OR substr(payload, 1, 19) = '"sqluice:encrypted:' AND length(CAST(payload AS BLOB)) <= 1572864)),
    CHECK (max_attempts BETWEEN 0 AND 32767),
    -- Less than a millisecond is a number of seconds.
    CONSTRAINT timeout_is_in_microseconds CHECK (timeout = 0 OR timeout BETWEEN 1000 AND 9223372036854775),
    -- SQLite runs a chain of ORs a third faster than IN (...). 'deleted' is no status of a job: see the trigger sqluice_jobs_keep_last.
    CHECK (status = 'pending' OR status = 'running' OR status = 'done'
        OR status = 'scheduled' OR status = 'failed' OR status = 'cancelled' OR status = 'deleted'),
    CHECK (priority BETWEEN -32768 AND 32767),
    CONSTRAINT run_after_is_in_unix_microseconds CHECK (run_after BETWEEN 100000000000000 AND 253402300799999999 OR run_after = 0),
    CONSTRAINT start_by_is_in_unix_microseconds CHECK (start_by BETWEEN 100000000000000 AND 253402300799999999),
    CHECK (successor_at IS NULL OR (successor_at BETWEEN 100000000000000 AND 253402300799999999 OR successor_at = 0)
        AND unique_key IS NOT NULL AND status = 'scheduled'),
    CHECK (attempt BETWEEN 0 AND 1000000000),
    CHECK (uncounted BETWEEN 0 AND 1000000000),
    CHECK (crashes BETWEEN 0 AND 1000000000),
    CHECK (worker_id BETWEEN 1 AND 9007199254740991),
    CONSTRAINT lease_until_is_in_unix_microseconds CHECK (lease_until BETWEEN 100000000000000 AND 253402300799999999 OR lease_until = 0),
    CONSTRAINT cancel_requested_at_is_in_unix_microseconds
        CHECK (cancel_requested_at BETWEEN 100000000000000 AND 253402300799999999 OR cancel_requested_at = 0),
    CHECK (unique_key IS NULL OR length(unique_key) BETWEEN 1 AND 1000 AND instr(unique_key, char(0)) = 0),
    CHECK (request_id IS NULL OR length(request_id) BETWEEN 1 AND 1000 AND instr(request_id, char(0)) = 0),
    CHECK (user_id IS NULL OR length(user_id) BETWEEN 1 AND 1000 AND instr(user_id, char(0)) = 0),
    CHECK (tags IS NULL OR json_valid(tags) AND instr(tags, char(0)) = 0 AND length(CAST(tags AS BLOB)) <= 1048576),
    CHECK (metadata IS NULL OR json_valid(metadata) AND instr(metadata, char(0)) = 0 AND length(CAST(metadata AS BLOB)) <= 1048576),
    CHECK (progress IS NULL OR json_valid(progress) AND instr(progress, char(0)) = 0 AND (length(CAST(progress AS BLOB)) <= 1048576
        OR substr(progress, 1, 19) = '"sqluice:encrypted:' AND length(CAST(progress AS BLOB)) <= 1572864)),
    CHECK (result IS NULL OR json_valid(result) AND instr(result, char(0)) = 0 AND (length(CAST(result AS BLOB)) <= 1048576
        OR substr(result, 1, 19) = '"sqluice:encrypted:' AND length(CAST(result AS BLOB)) <= 1572864)),
    CHECK (last_error IS NULL OR instr(last_error, char(0)) = 0 AND length(CAST(last_error AS BLOB)) <= 1048576),
    CONSTRAINT created_at_is_in_unix_microseconds CHECK (created_at BETWEEN 100000000000000 AND 253402300799999999 OR created_at = 0),
    CONSTRAINT started_at_is_in_unix_microseconds CHECK (started_at BETWEEN 100000000000000 AND 253402300799999999 OR started_at = 0),
    CONSTRAINT finished_at_is_in_unix_microseconds CHECK (finished_at BETWEEN 100000000000000 AND 253402300799999999 OR finished_at = 0),
    CONSTRAINT updated_at_is_in_unix_microseconds CHECK (updated_at BETWEEN 100000000000000 AND 253402300799999999 OR updated_at = 0)
) STRICT;

INSERT INTO sqluice_jobs_new (id, kind, payload, status, attempt, created_at, updated_at, started_at, finished_at, priority, run_after)
SELECT id, kind, payload, status, attempt, created_at, updated_at, started_at, finished_at, priority, run_after FROM sqluice_jobs;
INSERT INTO sqluice_jobs_new (id, kind, status, created_at, updated_at, run_after)
SELECT s.seq + 1, 'deleted', 'deleted', 0, 0, 0 FROM sqlite_sequence AS s
WHERE s.name = 'sqluice_jobs' AND s.seq > (SELECT COALESCE(MAX(j.id), 0) FROM sqluice_jobs AS j);
DROP TABLE sqluice_jobs;
ALTER TABLE sqluice_jobs_new RENAME TO sqluice_jobs;

-- Claims. kind is in the index, so that rows that no worker here can run cost a claim nothing.
CREATE INDEX sqluice_jobs_claim ON sqluice_jobs (queue, kind, priority DESC, run_after, id) WHERE status = 'pending';
-- Scheduled jobs that are due, and the count of scheduled jobs, without a sort.
CREATE INDEX sqluice_jobs_due ON sqluice_jobs (run_after) WHERE status = 'scheduled';
CREATE INDEX sqluice_jobs_scheduled ON sqluice_jobs (queue, kind, run_after) WHERE status = 'scheduled';
-- Jobs that are cancelled when no attempt begins.
CREATE INDEX sqluice_jobs_start_by ON sqluice_jobs (start_by)
    WHERE start_by IS NOT NULL AND status IN ('scheduled', 'pending');
CREATE INDEX sqluice_jobs_running ON sqluice_jobs (worker_id) WHERE status = 'running' AND finished_at IS NULL;
CREATE INDEX sqluice_jobs_user ON sqluice_jobs (user_id, id) WHERE user_id IS NOT NULL;
CREATE INDEX sqluice_jobs_deleted ON sqluice_jobs (id) WHERE status = 'deleted';

-- Keeps ids from being given again. SQLite gives a new row the largest id and one: the counter of AUTOINCREMENT would be a page more in
-- each commit. When the newest row is deleted, a row of the status 'deleted' is added after it, so that nothing that refers to the
-- deleted job finds another one. There is one at most.
-- +goose StatementBegin
CREATE TRIGGER sqluice_jobs_keep_last AFTER DELETE ON sqluice_jobs
WHEN OLD.id > (SELECT COALESCE(MAX(id), 0) FROM sqluice_jobs)
BEGIN
    DELETE FROM sqluice_jobs WHERE status = 'deleted';
    INSERT INTO sqluice_jobs (id, kind, status, created_at, updated_at, run_after)
    VALUES (min(OLD.id + (OLD.status <> 'deleted'), 9007199254740991), 'deleted', 'deleted', 0, 0, 0);
END;
-- +goose StatementEnd

-- +goose Down
DROP TRIGGER sqluice_jobs_keep_last;
CREATE TABLE sqluice_jobs_old (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    kind        TEXT    NOT NULL,                  -- the name of the handler
    payload     TEXT    NOT NULL DEFAULT '{}',     -- the input of the handler, in JSON
    status      TEXT    NOT NULL DEFAULT 'pending' -- then running, then done, failed or cancelled
                CHECK (status IN ('scheduled', 'pending', 'running', 'done', 'failed', 'cancelled')),
    attempt     INTEGER NOT NULL DEFAULT 0,        -- how often it was claimed
    created_at  INTEGER NOT NULL DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000),
    updated_at  INTEGER NOT NULL DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000),
    started_at  INTEGER,
    finished_at INTEGER
) STRICT;
ALTER TABLE sqluice_jobs_old ADD COLUMN priority INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sqluice_jobs_old ADD COLUMN run_after INTEGER NOT NULL DEFAULT 0;
INSERT INTO sqlite_sequence (name, seq) SELECT 'sqluice_jobs_old', MAX(id) FROM sqluice_jobs HAVING MAX(id) IS NOT NULL;
INSERT INTO sqluice_jobs_old (id, kind, payload, status, attempt, created_at, updated_at, started_at, finished_at, priority, run_after)
SELECT id, kind, payload, status, attempt, created_at, updated_at, started_at, finished_at, priority, run_after FROM sqluice_jobs
WHERE status <> 'deleted';
DROP TABLE sqluice_jobs;
ALTER TABLE sqluice_jobs_old RENAME TO sqluice_jobs;
CREATE INDEX sqluice_jobs_claim ON sqluice_jobs (priority DESC, run_after, id) WHERE status = 'pending';
CREATE INDEX sqluice_jobs_due ON sqluice_jobs (run_after) WHERE status = 'scheduled';
