-- +goose Up
-- A worker is one running Runner. The row of a worker that ended stays for a while, so that a job's
-- history can name it. Whoever can take the operating-system lock called lock_key knows that it is gone.
CREATE TABLE workers (
    id           BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name         TEXT    NOT NULL CHECK (length(name) BETWEEN 1 AND 200 AND name !~ '[\u0001-\u001f\u007f-\u009f]'),
    lock_key     TEXT    NOT NULL CHECK (length(lock_key) <= 200 AND lock_key !~ '[^0-9a-z]'),
    host         TEXT    NOT NULL CHECK (octet_length(host) <= 1048576),
    pid          BIGINT NOT NULL CHECK (pid BETWEEN 0 AND 4294967295),
    version      TEXT    NOT NULL CHECK (octet_length(version) <= 1048576),
    queues       TEXT    NOT NULL CHECK (CAST(queues AS json) IS NOT NULL AND octet_length(queues) <= 1048576 AND json_typeof(CAST(queues AS json)) = 'object'),
    kinds        TEXT    NOT NULL CHECK (CAST(kinds AS json) IS NOT NULL AND octet_length(kinds) <= 1048576 AND json_typeof(CAST(kinds AS json)) = 'array'),
    started_at   BIGINT NOT NULL CHECK (started_at BETWEEN 0 AND 253402300799999999),
    heartbeat_at BIGINT NOT NULL CHECK (heartbeat_at BETWEEN 0 AND 253402300799999999),
    lease_until  BIGINT NOT NULL CHECK (lease_until BETWEEN 0 AND 253402300799999999),
    ended_at     BIGINT CHECK (ended_at BETWEEN 0 AND 253402300799999999),
    end_reason   TEXT CHECK (end_reason IN ('stopped', 'crash', 'lost'))
);

CREATE UNIQUE INDEX workers_live ON workers (name) WHERE ended_at IS NULL;
CREATE INDEX workers_ended ON workers (ended_at) WHERE ended_at IS NOT NULL;

-- attempt counts every claim and is the fence. uncounted are the claims among them that do not count
-- against max_attempts: snoozed and released ones. crashes are those in which the process died.
ALTER TABLE jobs ADD COLUMN worker_id BIGINT;
ALTER TABLE jobs ADD COLUMN lease_until BIGINT;
ALTER TABLE jobs ADD COLUMN crashes BIGINT NOT NULL DEFAULT 0 CHECK (crashes >= 0);
ALTER TABLE jobs ADD COLUMN uncounted BIGINT NOT NULL DEFAULT 0 CHECK (uncounted >= 0);
ALTER TABLE jobs ADD COLUMN cancel_requested_at BIGINT;

CREATE INDEX jobs_running ON jobs (worker_id) WHERE status = 'running';

-- +goose Down
DROP INDEX jobs_running;
ALTER TABLE jobs DROP COLUMN cancel_requested_at;
ALTER TABLE jobs DROP COLUMN uncounted;
ALTER TABLE jobs DROP COLUMN crashes;
ALTER TABLE jobs DROP COLUMN lease_until;
ALTER TABLE jobs DROP COLUMN worker_id;
DROP TABLE workers;
