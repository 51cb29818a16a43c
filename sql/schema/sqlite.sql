-- Written by `go test ./sql -update` from the migrated database: what the migrations add up to. DO NOT EDIT.

CREATE TABLE sqluice_declarations (
    id          TEXT    NOT NULL PRIMARY KEY
                CHECK (length(id) = 32 AND instr(id, char(0)) = 0 AND id NOT GLOB '*[^0-9a-f]*'),
    subject     TEXT    NOT NULL CHECK (length(subject) BETWEEN 1 AND 200 AND instr(subject, char(0)) = 0),
    name        TEXT    NOT NULL CHECK (length(name) BETWEEN 1 AND 200 AND instr(name, char(0)) = 0),
    body        TEXT    NOT NULL DEFAULT '{}'
                CHECK (json_valid(body) AND instr(body, char(0)) = 0 AND length(CAST(body AS BLOB)) <= 1048576
                       AND json_type(body) = 'object'),
    ordinal     INTEGER NOT NULL CHECK (ordinal BETWEEN 1 AND 1000000000000),
    in_force    INTEGER NOT NULL DEFAULT 0 CHECK (in_force IN (0, 1)),
    declared_at INTEGER NOT NULL
                CONSTRAINT declared_at_is_in_unix_microseconds
                CHECK (declared_at BETWEEN 100000000000000 AND 253402300799999999 OR declared_at = 0),
    -- When a worker that declares it started last.
    seen_at     INTEGER NOT NULL
                CONSTRAINT seen_at_is_in_unix_microseconds
                CHECK (seen_at BETWEEN 100000000000000 AND 253402300799999999 OR seen_at = 0)
) STRICT, WITHOUT ROWID;

CREATE TABLE sqluice_job_audit (
    id      INTEGER PRIMARY KEY
            CONSTRAINT sqluice_job_audit_id_is_from_1_to_9007199254740991 CHECK (id BETWEEN 1 AND 9007199254740991),
    at      INTEGER NOT NULL CONSTRAINT at_is_in_unix_microseconds CHECK (at BETWEEN 100000000000000 AND 253402300799999999 OR at = 0),
    actor   TEXT    NOT NULL
            CHECK (length(actor) BETWEEN 1 AND 200 AND instr(actor, char(0)) = 0),
    action  TEXT    NOT NULL
            CHECK (length(action) BETWEEN 1 AND 200 AND instr(action, char(0)) = 0),
    job_id  INTEGER CHECK (job_id BETWEEN 1 AND 9007199254740991),
    kind    TEXT
            CHECK (length(kind) BETWEEN 1 AND 200 AND instr(kind, char(0)) = 0),
    queue   TEXT
            CHECK (length(queue) BETWEEN 1 AND 200 AND instr(queue, char(0)) = 0),
    jobs    INTEGER NOT NULL CHECK (jobs BETWEEN 0 AND 1000000000000),
    -- Numbers of at most 19 digits.
    job_ids TEXT
            CHECK (job_ids IS NULL OR json_valid(job_ids) AND instr(job_ids, char(0)) = 0 AND length(CAST(job_ids AS BLOB)) <= 1048576
                   AND json_type(job_ids) = 'array' AND substr(job_ids, 2) NOT GLOB '*[^]0-9,]*'
                   AND job_ids NOT GLOB '*' || replace(printf('%20s', ''), ' ', '[0-9]') || '*'),
    detail  TEXT
            CHECK (detail IS NULL OR json_valid(detail) AND instr(detail, char(0)) = 0 AND length(CAST(detail AS BLOB)) <= 1048576)
) STRICT;

CREATE TABLE sqluice_job_changes (
    id    INTEGER PRIMARY KEY,
    at    INTEGER NOT NULL CONSTRAINT at_is_in_unix_microseconds CHECK (at BETWEEN 100000000000000 AND 253402300799999999 OR at = 0),
    queue TEXT    NOT NULL,
    kind  TEXT    NOT NULL,
    -- A final status that jobs got, or lost, or retried or crashed.
    event TEXT    NOT NULL,
    -- How often that happened, and by how much the number of jobs with that status changed.
    times INTEGER NOT NULL CHECK (times BETWEEN 0 AND 1000000000000),
    jobs  INTEGER NOT NULL CHECK (jobs BETWEEN -1000000000000 AND 1000000000000)
) STRICT;

CREATE TABLE sqluice_job_counts (
    queue  TEXT    NOT NULL,
    kind   TEXT    NOT NULL,
    status TEXT    NOT NULL,
    jobs   INTEGER NOT NULL CHECK (jobs BETWEEN -1000000000000 AND 1000000000000),
    PRIMARY KEY (queue, kind, status)
) STRICT, WITHOUT ROWID;

CREATE TABLE sqluice_job_errors (
    id         INTEGER PRIMARY KEY
               CONSTRAINT sqluice_job_errors_id_is_from_1_to_9007199254740991 CHECK (id BETWEEN 1 AND 9007199254740991),
    job_id     INTEGER NOT NULL CHECK (job_id BETWEEN 1 AND 9007199254740991),
    attempt    INTEGER NOT NULL CHECK (attempt BETWEEN 0 AND 1000000000),
    worker_id  INTEGER CHECK (worker_id BETWEEN 1 AND 9007199254740991),
    started_at INTEGER
               CONSTRAINT started_at_is_in_unix_microseconds
               CHECK (started_at BETWEEN 100000000000000 AND 253402300799999999 OR started_at = 0),
    ended_at   INTEGER NOT NULL
               CONSTRAINT ended_at_is_in_unix_microseconds CHECK (ended_at BETWEEN 100000000000000 AND 253402300799999999 OR ended_at = 0),
    cause      TEXT    NOT NULL
               CHECK (cause IN ('error', 'panic', 'timeout', 'decode', 'crash', 'lost', 'expired',
                                'snoozed', 'released', 'cancelled', 'unable')),
    message    TEXT    NOT NULL CHECK (instr(message, char(0)) = 0 AND length(CAST(message AS BLOB)) <= 1048576),
    stack      TEXT    NOT NULL DEFAULT '' CHECK (instr(stack, char(0)) = 0 AND length(CAST(stack AS BLOB)) <= 1048576)
) STRICT;

CREATE TABLE sqluice_job_history (
    step     INTEGER NOT NULL CHECK (step BETWEEN 0 AND 1000000000000),
    start_at INTEGER NOT NULL
             CONSTRAINT start_at_is_in_unix_microseconds CHECK (start_at BETWEEN 100000000000000 AND 253402300799999999 OR start_at = 0),
    queue    TEXT    NOT NULL,
    kind     TEXT    NOT NULL,
    event    TEXT    NOT NULL,
    bucket   INTEGER NOT NULL CHECK (bucket BETWEEN 0 AND 63),
    times    INTEGER NOT NULL CHECK (times BETWEEN 0 AND 1000000000000),
    PRIMARY KEY (step, start_at, queue, kind, event, bucket)
) STRICT, WITHOUT ROWID;

CREATE TABLE sqluice_jobs (
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
    updated_at          INTEGER NOT NULL DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000), prefetched
    INTEGER /* the attempt that was claimed with others before a slot was free for each: a running job may not have started */, limit_key
    TEXT CONSTRAINT a_job_with_a_limit_key_is_scheduled_first
    CHECK (limit_key IS NULL OR length(limit_key) <= 200 AND instr(limit_key, char(0)) = 0 AND status <> 'pending'),
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
        OR status = 'scheduled' OR status = 'failed' OR status = 'cancelled' OR status = 'deleted' OR status = 'waiting'),
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
    CHECK (scope = 'kind' OR limit_key = '' AND weight = 0 AND ordered = '' AND (scope = 'queue' OR depth = 0)),
    CHECK ((depth = 0) = (on_full = '')),
    CHECK (ordered = '' OR running = 1),
    PRIMARY KEY (scope, name, limit_key)
) STRICT, WITHOUT ROWID;

CREATE TABLE sqluice_moves (
    direction  TEXT    NOT NULL PRIMARY KEY CHECK (direction IN ('in', 'out')),
    token      TEXT    NOT NULL CHECK (instr(token, char(0)) = 0 AND length(CAST(token AS BLOB)) <= 1048576),
    peer       TEXT    NOT NULL CHECK (instr(peer, char(0)) = 0 AND length(CAST(peer AS BLOB)) <= 1048576),
    started_at INTEGER NOT NULL
               CONSTRAINT started_at_is_in_unix_microseconds
               CHECK (started_at BETWEEN 100000000000000 AND 253402300799999999 OR started_at = 0)
) STRICT;

CREATE TABLE sqluice_pauses (
    queue        TEXT    NOT NULL DEFAULT 'default'
                 CHECK (length(queue) BETWEEN 1 AND 200 AND instr(queue, char(0)) = 0),
    kind         TEXT    NOT NULL DEFAULT ''
                 CHECK (length(kind) <= 200 AND instr(kind, char(0)) = 0),
    paused_at    INTEGER NOT NULL DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000)
                 CONSTRAINT paused_at_is_in_unix_microseconds
                 CHECK (paused_at BETWEEN 100000000000000 AND 253402300799999999 OR paused_at = 0),
    paused_until INTEGER
                 CONSTRAINT paused_until_is_in_unix_microseconds
                 CHECK (paused_until BETWEEN 100000000000000 AND 253402300799999999 OR paused_until = 0),
    paused_by    TEXT
                 CHECK (length(paused_by) BETWEEN 1 AND 200 AND instr(paused_by, char(0)) = 0),
    reason       TEXT
                 CHECK (length(reason) BETWEEN 1 AND 1000 AND instr(reason, char(0)) = 0),
    updated_at   INTEGER NOT NULL DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000)
                 CONSTRAINT updated_at_is_in_unix_microseconds
                 CHECK (updated_at BETWEEN 100000000000000 AND 253402300799999999 OR updated_at = 0),
    PRIMARY KEY (queue, kind)
) STRICT, WITHOUT ROWID;

CREATE TABLE sqluice_refusals (
    job_id   INTEGER NOT NULL CHECK (job_id BETWEEN 1 AND 9007199254740991),
    action   TEXT    NOT NULL
             CHECK (action IN ('promote', 'claim', 'conflict', 'renew', 'end', 'rescue', 'prune', 'expire')),
    times    INTEGER NOT NULL CHECK (times BETWEEN 1 AND 1000000000),
    message  TEXT    NOT NULL CHECK (instr(message, char(0)) = 0 AND length(CAST(message AS BLOB)) <= 1048576),
    first_at INTEGER NOT NULL
             CONSTRAINT first_at_is_in_unix_microseconds CHECK (first_at BETWEEN 100000000000000 AND 253402300799999999 OR first_at = 0),
    last_at  INTEGER NOT NULL
             CONSTRAINT last_at_is_in_unix_microseconds CHECK (last_at BETWEEN 100000000000000 AND 253402300799999999 OR last_at = 0),
    again_at INTEGER NOT NULL
             CONSTRAINT again_at_is_in_unix_microseconds CHECK (again_at BETWEEN 100000000000000 AND 253402300799999999 OR again_at = 0),
    PRIMARY KEY (job_id, action)
) STRICT, WITHOUT ROWID;

CREATE TABLE sqluice_retentions (
    queue      TEXT    NOT NULL DEFAULT ''
               CHECK (length(queue) BETWEEN 0 AND 200 AND instr(queue, char(0)) = 0),
    kind       TEXT    NOT NULL DEFAULT ''
               CHECK (length(kind) BETWEEN 0 AND 200 AND instr(kind, char(0)) = 0),
    status     TEXT    NOT NULL DEFAULT 'done' CHECK (status IN ('done', 'failed', 'cancelled')),
    keep       INTEGER CONSTRAINT keep_is_in_microseconds CHECK (keep BETWEEN 1000000 AND 3153600000000000),
    origin     TEXT    NOT NULL DEFAULT 'client' CHECK (origin IN ('client', 'code')),
    updated_by TEXT
               CHECK (length(updated_by) BETWEEN 1 AND 200 AND instr(updated_by, char(0)) = 0),
    updated_at INTEGER NOT NULL DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000)
               CONSTRAINT updated_at_is_in_unix_microseconds
               CHECK (updated_at BETWEEN 100000000000000 AND 253402300799999999 OR updated_at = 0),
    PRIMARY KEY (status, kind, queue, origin)
) STRICT, WITHOUT ROWID;

CREATE TABLE sqluice_schedule_ticks (
    schedule    TEXT    NOT NULL
                CHECK (length(schedule) BETWEEN 1 AND 200 AND instr(schedule, char(0)) = 0),
    tick        INTEGER NOT NULL
                CONSTRAINT tick_is_in_unix_microseconds CHECK (tick BETWEEN 100000000000000 AND 253402300799999999 OR tick = 0),
    outcome     TEXT    NOT NULL CHECK (outcome IN ('enqueued', 'asked', 'owed', 'skipped', 'missed')),
    since       INTEGER
                CONSTRAINT since_is_in_unix_microseconds CHECK (since BETWEEN 100000000000000 AND 253402300799999999 OR since = 0),
    job_id      INTEGER CHECK (job_id BETWEEN 1 AND 9007199254740991),
    replaced_id INTEGER CHECK (replaced_id BETWEEN 1 AND 9007199254740991),
    at          INTEGER NOT NULL
                CONSTRAINT at_is_in_unix_microseconds CHECK (at BETWEEN 100000000000000 AND 253402300799999999 OR at = 0),
    PRIMARY KEY (schedule, tick)
) STRICT, WITHOUT ROWID;

CREATE TABLE sqluice_schedules (
    name        TEXT    NOT NULL PRIMARY KEY
                CHECK (length(name) BETWEEN 1 AND 200 AND instr(name, char(0)) = 0),
    kind        TEXT    NOT NULL
                CHECK (length(kind) BETWEEN 1 AND 200 AND instr(kind, char(0)) = 0),
    queue       TEXT    NOT NULL DEFAULT 'default'
                CHECK (length(queue) BETWEEN 1 AND 200 AND instr(queue, char(0)) = 0),
    payload     TEXT    NOT NULL DEFAULT '{}'
                CHECK (json_valid(payload) AND instr(payload, char(0)) = 0 AND (length(CAST(payload AS BLOB)) <= 1048576
                    OR substr(payload, 1, 19) = '"sqluice:encrypted:' AND length(CAST(payload AS BLOB)) <= 1572864)),
    options     TEXT    NOT NULL DEFAULT '{}'
                CHECK (json_valid(options) AND instr(options, char(0)) = 0 AND length(CAST(options AS BLOB)) <= 1048576
                       AND json_type(options) = 'object'),
    spec        TEXT    NOT NULL
                CHECK (length(spec) BETWEEN 1 AND 1000 AND instr(spec, char(0)) = 0),
    zone        TEXT    NOT NULL DEFAULT 'UTC'
                CHECK (length(zone) BETWEEN 1 AND 200 AND instr(zone, char(0)) = 0),
    catch_up    TEXT    NOT NULL DEFAULT 'latest'
                CHECK (catch_up IN ('latest', 'none') OR catch_up GLOB 'all:[1-9]*' AND length(catch_up) <= 7
                       AND substr(catch_up, 5) NOT GLOB '*[^0-9]*'),
    overlap     TEXT    NOT NULL DEFAULT 'allow' CHECK (overlap IN ('allow', 'skip', 'replace', 'after')),
    origin      TEXT    NOT NULL DEFAULT 'client' CHECK (origin IN ('client', 'code')),
    start_at    INTEGER NOT NULL DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000)
                CONSTRAINT start_at_is_in_unix_microseconds CHECK (start_at BETWEEN 100000000000000 AND 253402300799999999 OR start_at = 0),
    next_at     INTEGER NOT NULL DEFAULT 0
                CONSTRAINT next_at_is_in_unix_microseconds CHECK (next_at BETWEEN 100000000000000 AND 253402300799999999 OR next_at = 0),
    owed_at     INTEGER
                CONSTRAINT owed_at_is_in_unix_microseconds CHECK (owed_at BETWEEN 100000000000000 AND 253402300799999999 OR owed_at = 0),
    last_at     INTEGER
                CONSTRAINT last_at_is_in_unix_microseconds CHECK (last_at BETWEEN 100000000000000 AND 253402300799999999 OR last_at = 0),
    last_job_id INTEGER CHECK (last_job_id BETWEEN 1 AND 9007199254740991),
    paused_at   INTEGER
                CONSTRAINT paused_at_is_in_unix_microseconds
                CHECK (paused_at BETWEEN 100000000000000 AND 253402300799999999 OR paused_at = 0),
    fault       TEXT    CHECK (instr(fault, char(0)) = 0 AND length(CAST(fault AS BLOB)) <= 1048576),
    version     INTEGER NOT NULL DEFAULT 0 CHECK (version BETWEEN 0 AND 1000000000000),
    created_at  INTEGER NOT NULL DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000)
                CONSTRAINT created_at_is_in_unix_microseconds
                CHECK (created_at BETWEEN 100000000000000 AND 253402300799999999 OR created_at = 0),
    updated_at  INTEGER NOT NULL DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000)
                CONSTRAINT updated_at_is_in_unix_microseconds
                CHECK (updated_at BETWEEN 100000000000000 AND 253402300799999999 OR updated_at = 0)
) STRICT;

CREATE TABLE sqluice_schema_versions (
    version   INTEGER PRIMARY KEY,
    runs_from INTEGER NOT NULL, -- programs of this schema version and newer run on the schema
    CHECK (version BETWEEN 17 AND 9999999999999 AND runs_from BETWEEN 17 AND version)
) STRICT;

CREATE TABLE sqluice_sensitive_fields (
    kind      TEXT    NOT NULL
              CHECK (length(kind) BETWEEN 1 AND 200 AND instr(kind, char(0)) = 0),
    path      TEXT    NOT NULL
              CHECK (length(path) BETWEEN 1 AND 1000 AND instr(path, char(0)) = 0),
    marked_at INTEGER NOT NULL
              CONSTRAINT marked_at_is_in_unix_microseconds
              CHECK (marked_at BETWEEN 100000000000000 AND 253402300799999999 OR marked_at = 0),
    PRIMARY KEY (kind, path)
) STRICT;

CREATE TABLE sqluice_unique_keys (
    kind       TEXT    NOT NULL
               CHECK (length(kind) BETWEEN 1 AND 200 AND instr(kind, char(0)) = 0),
    unique_key TEXT    NOT NULL
               CHECK (length(unique_key) BETWEEN 1 AND 1000 AND instr(unique_key, char(0)) = 0),
    taken_at   INTEGER NOT NULL
               CONSTRAINT taken_at_is_in_unix_microseconds CHECK (taken_at BETWEEN 100000000000000 AND 253402300799999999 OR taken_at = 0),
    until      INTEGER NOT NULL
               CONSTRAINT until_is_in_unix_microseconds CHECK (until BETWEEN 100000000000000 AND 253402300799999999 OR until = 0),
    job_id     INTEGER CHECK (job_id BETWEEN 1 AND 9007199254740991),
    PRIMARY KEY (kind, unique_key)
) STRICT;

CREATE TABLE sqluice_workers (
    id           INTEGER PRIMARY KEY AUTOINCREMENT
                 CONSTRAINT sqluice_workers_id_is_from_1_to_9007199254740991 CHECK (id BETWEEN 1 AND 9007199254740991),
    name         TEXT    NOT NULL
                 CHECK (length(name) BETWEEN 1 AND 200 AND instr(name, char(0)) = 0),
    -- A process that can take the lock of this name knows that the worker is gone.
    lock_key     TEXT    NOT NULL
                 CHECK (length(lock_key) <= 200 AND instr(lock_key, char(0)) = 0 AND lock_key NOT GLOB '*[^0-9A-Za-z-]*'),
    host         TEXT    NOT NULL CHECK (instr(host, char(0)) = 0 AND length(CAST(host AS BLOB)) <= 1048576),
    pid          INTEGER NOT NULL CHECK (pid BETWEEN 0 AND 4294967295),
    version      TEXT    NOT NULL CHECK (instr(version, char(0)) = 0 AND length(CAST(version AS BLOB)) <= 1048576),
    queues       TEXT    NOT NULL
                 CHECK (json_valid(queues) AND instr(queues, char(0)) = 0 AND length(CAST(queues AS BLOB)) <= 1048576
                        AND json_type(queues) = 'object'),
    kinds        TEXT    NOT NULL
                 CHECK (json_valid(kinds) AND instr(kinds, char(0)) = 0 AND length(CAST(kinds AS BLOB)) <= 1048576
                        AND json_type(kinds) = 'array'),
    started_at   INTEGER NOT NULL
                 CONSTRAINT started_at_is_in_unix_microseconds
                 CHECK (started_at BETWEEN 100000000000000 AND 253402300799999999 OR started_at = 0),
    heartbeat_at INTEGER NOT NULL
                 CONSTRAINT heartbeat_at_is_in_unix_microseconds
                 CHECK (heartbeat_at BETWEEN 100000000000000 AND 253402300799999999 OR heartbeat_at = 0),
    lease_until  INTEGER NOT NULL
                 CONSTRAINT lease_until_is_in_unix_microseconds
                 CHECK (lease_until BETWEEN 100000000000000 AND 253402300799999999 OR lease_until = 0),
    ended_at     INTEGER
                 CONSTRAINT ended_at_is_in_unix_microseconds
                 CHECK (ended_at BETWEEN 100000000000000 AND 253402300799999999 OR ended_at = 0),
    end_reason   TEXT    CHECK (end_reason IN ('stopped', 'crash', 'lost')),
    -- The names of the schedules that the worker's program declares.
    schedules    TEXT    NOT NULL DEFAULT '[]'
                 CHECK (json_valid(schedules) AND instr(schedules, char(0)) = 0 AND length(CAST(schedules AS BLOB)) <= 1048576
                        AND json_type(schedules) = 'array')
, declares TEXT NOT NULL DEFAULT '[]'
    CHECK (json_valid(declares) AND instr(declares, char(0)) = 0 AND length(CAST(declares AS BLOB)) <= 1048576
           AND json_type(declares) = 'array')) STRICT;

CREATE UNIQUE INDEX sqluice_declarations_in_force ON sqluice_declarations (subject, name) WHERE in_force = 1;

CREATE INDEX sqluice_declarations_name ON sqluice_declarations (subject, name, ordinal);

CREATE INDEX sqluice_job_audit_at ON sqluice_job_audit (at);

CREATE INDEX sqluice_job_audit_job ON sqluice_job_audit (job_id) WHERE job_id IS NOT NULL;

CREATE INDEX sqluice_job_audit_many ON sqluice_job_audit (id) WHERE job_ids IS NOT NULL;

CREATE INDEX sqluice_job_errors_job ON sqluice_job_errors (job_id, attempt);

CREATE INDEX sqluice_jobs_claim ON sqluice_jobs (queue, kind, priority DESC, run_after, id) WHERE status = 'pending';

CREATE INDEX sqluice_jobs_deleted ON sqluice_jobs (id) WHERE status = 'deleted';

CREATE INDEX sqluice_jobs_due ON sqluice_jobs (run_after) WHERE status = 'scheduled' AND limit_key IS NULL;

CREATE INDEX sqluice_jobs_ended ON sqluice_jobs (status, id) WHERE status = 'failed' OR status = 'cancelled';

CREATE INDEX sqluice_jobs_failed ON sqluice_jobs (status, finished_at) WHERE status = 'failed' OR status = 'cancelled';

CREATE INDEX sqluice_jobs_failed_kind ON sqluice_jobs (kind, finished_at) WHERE status = 'failed';

CREATE INDEX sqluice_jobs_lane ON sqluice_jobs (kind, limit_key, queue, priority DESC, run_after, id) WHERE status = 'waiting';

CREATE INDEX sqluice_jobs_limited ON sqluice_jobs (kind, limit_key) WHERE limit_key IS NOT NULL AND status = 'running';

CREATE INDEX sqluice_jobs_limited_due ON sqluice_jobs (run_after) WHERE limit_key IS NOT NULL AND status = 'scheduled';

CREATE INDEX sqluice_jobs_limited_failed ON sqluice_jobs (kind, limit_key, id) WHERE limit_key IS NOT NULL AND status = 'failed';

CREATE UNIQUE INDEX sqluice_jobs_request ON sqluice_jobs (kind, request_id) WHERE request_id IS NOT NULL;

CREATE INDEX sqluice_jobs_running ON sqluice_jobs (worker_id) WHERE status = 'running' AND finished_at IS NULL;

CREATE INDEX sqluice_jobs_scheduled ON sqluice_jobs (queue, kind, run_after) WHERE status = 'scheduled';

CREATE INDEX sqluice_jobs_sequence ON sqluice_jobs (kind, limit_key, id)
    WHERE limit_key IS NOT NULL AND status IN ('scheduled', 'waiting');

CREATE INDEX sqluice_jobs_start_by ON sqluice_jobs (start_by)
    WHERE start_by IS NOT NULL AND status IN ('scheduled', 'waiting', 'pending');

CREATE UNIQUE INDEX sqluice_jobs_successor ON sqluice_jobs (kind, unique_key) WHERE successor_at IS NOT NULL;

CREATE UNIQUE INDEX sqluice_jobs_unique ON sqluice_jobs (kind, unique_key)
    WHERE unique_key IS NOT NULL AND successor_at IS NULL AND status IN ('scheduled', 'waiting', 'pending', 'running');

CREATE INDEX sqluice_jobs_user ON sqluice_jobs (user_id, id) WHERE user_id IS NOT NULL;

CREATE INDEX sqluice_lanes_next ON sqluice_lanes (queue, kind, ready_at) WHERE ready_at IS NOT NULL;

CREATE INDEX sqluice_lanes_parked ON sqluice_lanes (queue, kind, limit_key) WHERE ready_at IS NULL;

CREATE INDEX sqluice_lanes_ready ON sqluice_lanes (queue, kind, priority DESC, ready_at) WHERE ready_at IS NOT NULL;

CREATE INDEX sqluice_limits_whole ON sqluice_limits (scope, name) WHERE limit_key = '';

CREATE INDEX sqluice_schedules_next ON sqluice_schedules (next_at) WHERE paused_at IS NULL AND origin = 'client';

CREATE INDEX sqluice_schedules_owed ON sqluice_schedules (owed_at) WHERE owed_at IS NOT NULL;

CREATE INDEX sqluice_unique_keys_until ON sqluice_unique_keys (until);

CREATE INDEX sqluice_workers_ended ON sqluice_workers (ended_at) WHERE ended_at IS NOT NULL;

CREATE UNIQUE INDEX sqluice_workers_live ON sqluice_workers (name) WHERE ended_at IS NULL;

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

CREATE VIEW sqluice_failures AS
SELECT j.id, j.queue, j.kind, j.user_id, j.attempt,
       CASE WHEN j.max_attempts > 0 THEN j.max_attempts ELSE COALESCE(
           (SELECT k.max_attempts FROM sqluice_kind_settings AS k WHERE k.kind = j.kind AND k.max_attempts > 0), 25) END AS max_attempts,
       j.crashes,
       (SELECT e.cause FROM sqluice_job_errors AS e WHERE e.job_id = j.id AND e.cause NOT IN ('snoozed', 'released', 'cancelled', 'unable')
        ORDER BY e.attempt DESC, e.id DESC LIMIT 1) AS cause,
       substr(j.last_error, 1, 200) AS error, j.worker_id, w.name AS worker, w.host,
       j.created_at,
       strftime('%Y-%m-%dT%H:%M:%SZ', j.created_at / 1000000, 'unixepoch') AS created_at_text,
       j.finished_at,
       strftime('%Y-%m-%dT%H:%M:%SZ', j.finished_at / 1000000, 'unixepoch') AS finished_at_text
FROM sqluice_jobs AS j LEFT JOIN sqluice_workers AS w ON w.id = j.worker_id
WHERE j.status = 'failed';

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

CREATE VIEW sqluice_kind_settings AS
SELECT d.name AS kind,
       CAST(CASE json_type(d.body, '$.max_attempts') WHEN 'integer' THEN d.body->>'max_attempts' ELSE 0 END AS INTEGER) AS max_attempts,
       CAST(CASE json_type(d.body, '$.timeout') WHEN 'integer' THEN d.body->>'timeout' ELSE 0 END AS INTEGER) AS timeout,
       CAST(CASE json_type(d.body, '$.queue') WHEN 'text' THEN d.body->>'queue' ELSE '' END AS TEXT) AS queue,
       CAST(CASE json_type(d.body, '$.priority') WHEN 'integer' THEN d.body->>'priority' ELSE 0 END AS INTEGER) AS priority
FROM sqluice_declarations AS d WHERE d.subject = 'kind' AND d.in_force = 1;

CREATE VIEW sqluice_running AS
SELECT j.id, j.queue, j.kind, j.user_id, j.attempt,
       CASE WHEN j.max_attempts > 0 THEN j.max_attempts ELSE COALESCE(
           (SELECT k.max_attempts FROM sqluice_kind_settings AS k WHERE k.kind = j.kind AND k.max_attempts > 0), 25) END AS max_attempts,
       j.crashes, j.worker_id, w.name AS worker, w.host, w.pid,
       j.started_at,
       strftime('%Y-%m-%dT%H:%M:%SZ', j.started_at / 1000000, 'unixepoch') AS started_at_text,
       (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 - j.started_at) / 1000000 AS running_seconds,
       j.lease_until,
       strftime('%Y-%m-%dT%H:%M:%SZ', j.lease_until / 1000000, 'unixepoch') AS lease_until_text,
       j.cancel_requested_at,
       strftime('%Y-%m-%dT%H:%M:%SZ', j.cancel_requested_at / 1000000, 'unixepoch') AS cancel_requested_at_text,
       j.progress
FROM sqluice_jobs AS j LEFT JOIN sqluice_workers AS w ON w.id = j.worker_id
WHERE j.status = 'running' AND j.finished_at IS NULL;

CREATE TRIGGER sqluice_jobs_delete_counts AFTER DELETE ON sqluice_jobs
WHEN OLD.status = 'done' OR OLD.status = 'failed' OR OLD.status = 'cancelled' -- IN (...) would make a table for each row
BEGIN
    INSERT INTO sqluice_job_counts (queue, kind, status, jobs) VALUES (OLD.queue, OLD.kind, OLD.status, -1)
    ON CONFLICT (queue, kind, status) DO UPDATE SET jobs = max(jobs - 1, -1000000000000);
END;

CREATE TRIGGER sqluice_jobs_delete_errors AFTER DELETE ON sqluice_jobs
BEGIN
    DELETE FROM sqluice_job_errors WHERE job_id = OLD.id;
END;

CREATE TRIGGER sqluice_jobs_keep_last AFTER DELETE ON sqluice_jobs
WHEN OLD.id > (SELECT COALESCE(MAX(id), 0) FROM sqluice_jobs)
BEGIN
    DELETE FROM sqluice_jobs WHERE status = 'deleted';
    INSERT INTO sqluice_jobs (id, kind, status, created_at, updated_at, run_after)
    VALUES (min(OLD.id + (OLD.status <> 'deleted'), 9007199254740991), 'deleted', 'deleted', 0, 0, 0);
END;
