-- Written by `go test ./sql -update` from the migrated database: what the migrations add up to. DO NOT EDIT.

CREATE TABLE job_audit (
    id      INTEGER PRIMARY KEY,
    at      INTEGER NOT NULL,
    actor   TEXT    NOT NULL CHECK (length(actor) BETWEEN 1 AND 200),
    action  TEXT    NOT NULL CHECK (length(action) BETWEEN 1 AND 200),
    job_id  INTEGER,
    kind    TEXT,
    queue   TEXT,
    jobs    INTEGER NOT NULL CHECK (jobs >= 0),
    job_ids TEXT CHECK (job_ids IS NULL OR json_valid(job_ids)),
    detail  TEXT CHECK (detail IS NULL OR json_valid(detail))
) STRICT;

CREATE TABLE job_changes (
    id    INTEGER PRIMARY KEY,
    at    INTEGER NOT NULL,
    queue TEXT    NOT NULL,
    kind  TEXT    NOT NULL,
    -- A final status that jobs got, or lost, or retried or crashed.
    event TEXT    NOT NULL,
    -- How often that happened, and by how much the number of jobs with that status changed.
    times INTEGER NOT NULL,
    jobs  INTEGER NOT NULL
) STRICT;

CREATE TABLE job_counts (
    queue  TEXT    NOT NULL,
    kind   TEXT    NOT NULL,
    status TEXT    NOT NULL,
    jobs   INTEGER NOT NULL,
    PRIMARY KEY (queue, kind, status)
) STRICT, WITHOUT ROWID;

CREATE TABLE job_errors (
    id         INTEGER PRIMARY KEY,
    job_id     INTEGER NOT NULL,
    attempt    INTEGER NOT NULL,
    worker_id  INTEGER,
    started_at INTEGER,
    ended_at   INTEGER NOT NULL,
    cause      TEXT    NOT NULL CHECK (cause IN ('error', 'panic', 'timeout', 'crash', 'lost')),
    message    TEXT    NOT NULL,
    stack      TEXT    NOT NULL DEFAULT ''
) STRICT;

CREATE TABLE job_history (
    step     INTEGER NOT NULL,
    start_at INTEGER NOT NULL,
    queue    TEXT    NOT NULL,
    kind     TEXT    NOT NULL,
    event    TEXT    NOT NULL,
    bucket   INTEGER NOT NULL,
    times    INTEGER NOT NULL,
    PRIMARY KEY (step, start_at, queue, kind, event, bucket)
) STRICT, WITHOUT ROWID;

CREATE TABLE jobs (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    kind        TEXT    NOT NULL CHECK (length(kind) BETWEEN 1 AND 200),
    payload     TEXT    NOT NULL DEFAULT '{}' CHECK (json_valid(payload)),
    status      TEXT    NOT NULL DEFAULT 'pending'
                CHECK (status = 'pending' OR status = 'running' OR status = 'done'
                       OR status = 'scheduled' OR status = 'failed' OR status = 'cancelled'),
    attempt     INTEGER NOT NULL DEFAULT 0 CHECK (attempt >= 0),
    created_at  INTEGER NOT NULL DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000),
    updated_at  INTEGER NOT NULL DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000),
    started_at  INTEGER,
    finished_at INTEGER,
    -- Higher runs first.
    priority    INTEGER NOT NULL DEFAULT 0 CHECK (priority BETWEEN -32768 AND 32767),
    -- Not before this time; up to the end of the year 9999.
    run_after   INTEGER NOT NULL DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000)
                CHECK (run_after BETWEEN 0 AND 253402300799999999)
, worker_id INTEGER, lease_until INTEGER, crashes INTEGER NOT NULL DEFAULT 0 CHECK (crashes >= 0), uncounted INTEGER NOT NULL DEFAULT 0 CHECK (uncounted >= 0), cancel_requested_at INTEGER, queue TEXT NOT NULL DEFAULT 'default' CHECK (length(queue) BETWEEN 1 AND 200), max_attempts INTEGER NOT NULL DEFAULT 25 CHECK (max_attempts BETWEEN 1 AND 32767), timeout INTEGER NOT NULL DEFAULT 0 CHECK (timeout >= 0), last_error TEXT, unique_key TEXT CHECK (length(unique_key) BETWEEN 1 AND 1000), request_id TEXT CHECK (length(request_id) BETWEEN 1 AND 1000), user_id TEXT CHECK (length(user_id) BETWEEN 1 AND 1000), tags TEXT CHECK (tags IS NULL OR json_valid(tags)), metadata TEXT CHECK (metadata IS NULL OR json_valid(metadata)), progress TEXT CHECK (progress IS NULL OR json_valid(progress)), result TEXT CHECK (result IS NULL OR json_valid(result))) STRICT;

CREATE TABLE moves (
    direction  TEXT    NOT NULL PRIMARY KEY CHECK (direction IN ('in', 'out')),
    token      TEXT    NOT NULL,
    peer       TEXT    NOT NULL,
    started_at INTEGER NOT NULL
) STRICT;

CREATE TABLE queues (
    name       TEXT    NOT NULL PRIMARY KEY CHECK (length(name) BETWEEN 1 AND 200),
    paused_at  INTEGER,
    updated_at INTEGER NOT NULL
) STRICT;

CREATE TABLE sensitive_fields (
    kind      TEXT    NOT NULL CHECK (length(kind) BETWEEN 1 AND 200),
    path      TEXT    NOT NULL CHECK (length(path) BETWEEN 1 AND 1000),
    marked_at INTEGER NOT NULL,
    PRIMARY KEY (kind, path)
) STRICT;

CREATE TABLE workers (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    name         TEXT    NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    lock_key     TEXT    NOT NULL,
    host         TEXT    NOT NULL,
    pid          INTEGER NOT NULL,
    version      TEXT    NOT NULL,
    queues       TEXT    NOT NULL CHECK (json_valid(queues)),
    kinds        TEXT    NOT NULL CHECK (json_valid(kinds)),
    started_at   INTEGER NOT NULL,
    heartbeat_at INTEGER NOT NULL,
    lease_until  INTEGER NOT NULL,
    ended_at     INTEGER,
    end_reason   TEXT CHECK (end_reason IN ('stopped', 'crash', 'lost'))
) STRICT;

CREATE INDEX job_audit_at ON job_audit (at);

CREATE INDEX job_audit_job ON job_audit (job_id) WHERE job_id IS NOT NULL;

CREATE INDEX job_audit_many ON job_audit (id) WHERE job_ids IS NOT NULL;

CREATE INDEX job_errors_job ON job_errors (job_id, attempt);

CREATE INDEX jobs_claim ON jobs (queue, kind, priority DESC, run_after, id) WHERE status = 'pending';

CREATE INDEX jobs_due ON jobs (run_after) WHERE status = 'scheduled';

CREATE INDEX jobs_ended ON jobs (status, id) WHERE status = 'failed' OR status = 'cancelled';

CREATE INDEX jobs_failed ON jobs (status, finished_at) WHERE status = 'failed' OR status = 'cancelled';

CREATE INDEX jobs_failed_kind ON jobs (kind, finished_at) WHERE status = 'failed';

CREATE UNIQUE INDEX jobs_request ON jobs (kind, request_id) WHERE request_id IS NOT NULL;

CREATE INDEX jobs_running ON jobs (worker_id) WHERE status = 'running';

CREATE INDEX jobs_scheduled ON jobs (queue, kind, run_after) WHERE status = 'scheduled';

CREATE UNIQUE INDEX jobs_unique ON jobs (kind, unique_key)
    WHERE unique_key IS NOT NULL AND status IN ('scheduled', 'pending', 'running');

CREATE INDEX workers_ended ON workers (ended_at) WHERE ended_at IS NOT NULL;

CREATE UNIQUE INDEX workers_live ON workers (name) WHERE ended_at IS NULL;

CREATE VIEW jobs_readable AS
SELECT id, queue, kind, payload, status, priority,
       strftime('%Y-%m-%dT%H:%M:%S', run_after / 1000000, 'unixepoch') || printf('.%06dZ', run_after % 1000000) AS run_after,
       attempt, uncounted, max_attempts, crashes, worker_id,
       strftime('%Y-%m-%dT%H:%M:%S', lease_until / 1000000, 'unixepoch') || printf('.%06dZ', lease_until % 1000000) AS lease_until,
       timeout, unique_key, request_id, user_id, tags, metadata, progress, result, last_error,
       strftime('%Y-%m-%dT%H:%M:%S', created_at / 1000000, 'unixepoch') || printf('.%06dZ', created_at % 1000000) AS created_at,
       strftime('%Y-%m-%dT%H:%M:%S', started_at / 1000000, 'unixepoch') || printf('.%06dZ', started_at % 1000000) AS started_at,
       strftime('%Y-%m-%dT%H:%M:%S', finished_at / 1000000, 'unixepoch') || printf('.%06dZ', finished_at % 1000000) AS finished_at,
       strftime('%Y-%m-%dT%H:%M:%S', updated_at / 1000000, 'unixepoch') || printf('.%06dZ', updated_at % 1000000) AS updated_at,
       strftime('%Y-%m-%dT%H:%M:%S', cancel_requested_at / 1000000, 'unixepoch') || printf('.%06dZ', cancel_requested_at % 1000000) AS cancel_requested_at
FROM jobs;

CREATE TRIGGER jobs_delete_counts AFTER DELETE ON jobs
WHEN OLD.status IN ('done', 'failed', 'cancelled')
BEGIN
    INSERT INTO job_counts (queue, kind, status, jobs) VALUES (OLD.queue, OLD.kind, OLD.status, -1)
    ON CONFLICT (queue, kind, status) DO UPDATE SET jobs = jobs - 1;
END;

CREATE TRIGGER jobs_delete_errors AFTER DELETE ON jobs
BEGIN
    DELETE FROM job_errors WHERE job_id = OLD.id;
END;

CREATE TRIGGER jobs_not_due AFTER INSERT ON jobs
WHEN NEW.status = 'pending' AND NEW.run_after > NEW.created_at
    AND NEW.run_after > CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000
BEGIN
    UPDATE jobs SET status = 'scheduled' WHERE id = NEW.id;
END;
