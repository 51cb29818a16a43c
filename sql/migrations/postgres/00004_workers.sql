-- +goose Up
-- A worker is one running Runner. The row of a worker that ended stays for a while, so that a job's history can name it.
CREATE TABLE sqluice_workers (
    id           BIGINT GENERATED ALWAYS AS IDENTITY (MAXVALUE 9007199254740991) PRIMARY KEY
                 CHECK (id BETWEEN 1 AND 9007199254740991),
    name         sqluice_name NOT NULL,
    -- A process that can take the lock of this name knows that the worker is gone.
    lock_key     TEXT         NOT NULL CHECK (length(lock_key) <= 200 AND lock_key !~ '[^0-9A-Za-z-]'),
    host         sqluice_text NOT NULL,
    pid          BIGINT       NOT NULL CHECK (pid BETWEEN 0 AND 4294967295),
    version      sqluice_text NOT NULL,
    queues       sqluice_json NOT NULL CHECK (json_typeof(CAST(queues AS json)) = 'object'),
    kinds        sqluice_json NOT NULL CHECK (json_typeof(CAST(kinds AS json)) = 'array'),
    started_at   sqluice_time NOT NULL,
    heartbeat_at sqluice_time NOT NULL,
    lease_until  sqluice_time NOT NULL,
    ended_at     sqluice_time,
    end_reason   TEXT CHECK (end_reason IN ('stopped', 'crash', 'lost')),
    -- The names of the schedules that the worker's program declares.
    schedules    sqluice_json NOT NULL DEFAULT '[]' CHECK (json_typeof(CAST(schedules AS json)) = 'array')
);

CREATE UNIQUE INDEX sqluice_workers_live ON sqluice_workers (name) WHERE ended_at IS NULL;
CREATE INDEX sqluice_workers_ended ON sqluice_workers (ended_at) WHERE ended_at IS NOT NULL;

-- +goose Down
DROP TABLE sqluice_workers;
