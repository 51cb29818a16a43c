-- +goose Up
-- A worker is one running Runner. The row of a worker that ended stays for a while, so that a job's history can name it.
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
) STRICT;

CREATE UNIQUE INDEX sqluice_workers_live ON sqluice_workers (name) WHERE ended_at IS NULL;
CREATE INDEX sqluice_workers_ended ON sqluice_workers (ended_at) WHERE ended_at IS NOT NULL;

-- +goose Down
DROP TABLE sqluice_workers;
