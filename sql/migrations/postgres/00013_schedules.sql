-- +goose Up
-- When jobs are enqueued by the clock. A plain INSERT INTO sqluice_schedules (name, kind, spec) VALUES ('nightly', 'report',
-- '0 2 * * *') is a good schedule. options has columns of its jobs beside the kind, the queue and the payload, by name. A spec of
-- '@every 90s' counts from start_at. next_at is the next tick; 0 lets a worker find it. owed_at is a tick whose job waits for the end
-- of the last one. fault says why a worker could not enqueue its job: others may, and it is tried again.
-- A schedule whose origin is 'code' is due only while a worker lives that declares it.
CREATE TABLE sqluice_schedules (
    name        sqluice_name NOT NULL PRIMARY KEY,
    kind        sqluice_name NOT NULL,
    queue       sqluice_name NOT NULL DEFAULT 'default',
    payload     sqluice_json NOT NULL DEFAULT '{}',
    options     sqluice_json NOT NULL DEFAULT '{}' CHECK (json_typeof(CAST(options AS json)) = 'object'),
    spec        sqluice_key  NOT NULL,
    zone        sqluice_name NOT NULL DEFAULT 'UTC',
    catch_up    TEXT         NOT NULL DEFAULT 'latest' CHECK (catch_up ~ '^(latest|none|all:[1-9][0-9]{0,2})$'),
    overlap     TEXT         NOT NULL DEFAULT 'allow' CHECK (overlap IN ('allow', 'skip', 'replace', 'after')),
    origin      TEXT         NOT NULL DEFAULT 'client' CHECK (origin IN ('client', 'code')),
    start_at    sqluice_time NOT NULL DEFAULT (CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)),
    next_at     sqluice_time NOT NULL DEFAULT 0,
    owed_at     sqluice_time,
    last_at     sqluice_time,
    last_job_id sqluice_id,
    paused_at   sqluice_time,
    fault       sqluice_text,
    version     sqluice_total NOT NULL DEFAULT 0,
    created_at  sqluice_time NOT NULL DEFAULT (CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)),
    updated_at  sqluice_time NOT NULL DEFAULT (CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT))
);

CREATE INDEX sqluice_schedules_next ON sqluice_schedules (next_at) WHERE paused_at IS NULL AND origin = 'client';
CREATE INDEX sqluice_schedules_owed ON sqluice_schedules (owed_at) WHERE owed_at IS NOT NULL;

-- The last ticks of each schedule, and what came of them. since is the first of the ticks before this one that were missed.
-- replaced_id is the job that was cancelled for it.
CREATE TABLE sqluice_schedule_ticks (
    schedule    sqluice_name NOT NULL,
    tick        sqluice_time NOT NULL,
    outcome     TEXT         NOT NULL CHECK (outcome IN ('enqueued', 'asked', 'owed', 'skipped', 'missed')),
    since       sqluice_time,
    job_id      sqluice_id,
    replaced_id sqluice_id,
    at          sqluice_time NOT NULL,
    PRIMARY KEY (schedule, tick)
);

-- +goose Down
DROP TABLE sqluice_schedule_ticks;
DROP TABLE sqluice_schedules;
