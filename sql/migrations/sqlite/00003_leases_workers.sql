-- +goose Up
-- A worker is one running Runner. The row of a worker that ended stays for a while, so that a job's
-- history can name it. Whoever can take the operating-system lock called lock_key knows that it is gone.
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

CREATE UNIQUE INDEX workers_live ON workers (name) WHERE ended_at IS NULL;
CREATE INDEX workers_ended ON workers (ended_at) WHERE ended_at IS NOT NULL;

-- attempt counts every claim and is the fence. uncounted are the claims among them that do not count
-- against max_attempts: snoozed and released ones. crashes are those in which the process died.
ALTER TABLE jobs ADD COLUMN worker_id INTEGER;
ALTER TABLE jobs ADD COLUMN lease_until INTEGER;
ALTER TABLE jobs ADD COLUMN crashes INTEGER NOT NULL DEFAULT 0 CHECK (crashes >= 0);
ALTER TABLE jobs ADD COLUMN uncounted INTEGER NOT NULL DEFAULT 0 CHECK (uncounted >= 0);
ALTER TABLE jobs ADD COLUMN cancel_requested_at INTEGER;

CREATE INDEX jobs_running ON jobs (worker_id) WHERE status = 'running';

-- +goose Down
DROP INDEX jobs_running;
ALTER TABLE jobs DROP COLUMN cancel_requested_at;
ALTER TABLE jobs DROP COLUMN uncounted;
ALTER TABLE jobs DROP COLUMN crashes;
ALTER TABLE jobs DROP COLUMN lease_until;
ALTER TABLE jobs DROP COLUMN worker_id;
DROP TABLE workers;
