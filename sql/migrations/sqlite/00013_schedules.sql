-- +goose Up
-- When jobs are enqueued by the clock. A plain INSERT INTO sqluice_schedules (name, kind, spec) VALUES ('nightly', 'report',
-- '0 2 * * *') is a good schedule. options has columns of its jobs beside the kind, the queue and the payload, by name. A spec of
-- '@every 90s' counts from start_at. next_at is the next tick; 0 lets a worker find it. owed_at is a tick whose job waits for the end
-- of the last one. fault says why a worker could not enqueue its job: others may, and it is tried again.
-- A schedule whose origin is 'code' is due only while a worker lives that declares it.
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

CREATE INDEX sqluice_schedules_next ON sqluice_schedules (next_at) WHERE paused_at IS NULL AND origin = 'client';
CREATE INDEX sqluice_schedules_owed ON sqluice_schedules (owed_at) WHERE owed_at IS NOT NULL;

-- The last ticks of each schedule, and what came of them. since is the first of the ticks before this one that were missed.
-- replaced_id is the job that was cancelled for it.
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

-- +goose Down
DROP TABLE sqluice_schedule_ticks;
DROP TABLE sqluice_schedules;
