-- +goose Up
-- How many jobs of each queue and kind ended how, without reading them. What a write changes of that is added as a row to
-- job_changes in the same transaction, and from there to the sums by any worker, every few seconds.
CREATE TABLE job_counts (
    queue  TEXT    NOT NULL CHECK (length(queue) BETWEEN 1 AND 200 AND instr(queue, char(0)) = 0 AND queue NOT GLOB '*[^ -~' || char(160, 45, 1114111) || ']*'),
    kind   TEXT    NOT NULL CHECK (length(kind) BETWEEN 1 AND 200 AND instr(kind, char(0)) = 0 AND kind NOT GLOB '*[^ -~' || char(160, 45, 1114111) || ']*'),
    status TEXT    NOT NULL CHECK (status IN ('done', 'failed', 'cancelled')),
    jobs   INTEGER NOT NULL CHECK (jobs BETWEEN -1000000000000 AND 1000000000000),
    PRIMARY KEY (queue, kind, status)
) STRICT, WITHOUT ROWID;

CREATE TABLE job_changes (
    id    INTEGER PRIMARY KEY,
    at    INTEGER NOT NULL CHECK (at BETWEEN 0 AND 253402300799999999),
    queue TEXT    NOT NULL CHECK (length(queue) BETWEEN 1 AND 200 AND instr(queue, char(0)) = 0 AND queue NOT GLOB '*[^ -~' || char(160, 45, 1114111) || ']*'),
    kind  TEXT    NOT NULL CHECK (length(kind) BETWEEN 1 AND 200 AND instr(kind, char(0)) = 0 AND kind NOT GLOB '*[^ -~' || char(160, 45, 1114111) || ']*'),
    -- A final status that jobs got, or lost, or retried or crashed.
    event TEXT    NOT NULL CHECK (length(event) BETWEEN 1 AND 200 AND instr(event, char(0)) = 0 AND event NOT GLOB '*[^ -~' || char(160, 45, 1114111) || ']*'),
    -- How often that happened, and by how much the number of jobs with that status changed.
    times INTEGER NOT NULL CHECK (times BETWEEN 0 AND 1000000000000),
    jobs  INTEGER NOT NULL CHECK (jobs BETWEEN -1000000000000 AND 1000000000000)
) STRICT;

-- What happened in each step of time (in microseconds), and how long jobs waited and ran, by classes of durations.
CREATE TABLE job_history (
    step     INTEGER NOT NULL CHECK (step BETWEEN 0 AND 253402300799999999),
    start_at INTEGER NOT NULL CHECK (start_at BETWEEN 0 AND 253402300799999999),
    queue    TEXT    NOT NULL CHECK (length(queue) BETWEEN 0 AND 200 AND instr(queue, char(0)) = 0 AND queue NOT GLOB '*[^ -~' || char(160, 45, 1114111) || ']*'),
    kind     TEXT    NOT NULL CHECK (length(kind) BETWEEN 0 AND 200 AND instr(kind, char(0)) = 0 AND kind NOT GLOB '*[^ -~' || char(160, 45, 1114111) || ']*'),
    event    TEXT    NOT NULL CHECK (length(event) BETWEEN 1 AND 200 AND instr(event, char(0)) = 0 AND event NOT GLOB '*[^ -~' || char(160, 45, 1114111) || ']*'),
    bucket   INTEGER NOT NULL CHECK (bucket BETWEEN 0 AND 63),
    times    INTEGER NOT NULL CHECK (times BETWEEN 0 AND 1000000000000),
    PRIMARY KEY (step, start_at, queue, kind, event, bucket)
) STRICT, WITHOUT ROWID;

INSERT INTO job_counts (queue, kind, status, jobs)
SELECT queue, kind, status, COUNT(*) FROM jobs WHERE status IN ('done', 'failed', 'cancelled')
GROUP BY queue, kind, status;

-- Nobody else writes meanwhile, so this goes into the sums at once.
-- +goose StatementBegin
CREATE TRIGGER jobs_delete_counts AFTER DELETE ON jobs
WHEN OLD.status IN ('done', 'failed', 'cancelled')
BEGIN
    INSERT INTO job_counts (queue, kind, status, jobs) VALUES (OLD.queue, OLD.kind, OLD.status, -1)
    ON CONFLICT (queue, kind, status) DO UPDATE SET jobs = max(jobs - 1, -1000000000000);
END;
-- +goose StatementEnd

-- Counting the jobs that wait reads the indexes alone.
DROP INDEX jobs_due;
CREATE INDEX jobs_due ON jobs (run_after, id, queue, kind) WHERE status = 'scheduled';

-- +goose Down
DROP INDEX jobs_due;
CREATE INDEX jobs_due ON jobs (run_after) WHERE status = 'scheduled';
DROP TRIGGER jobs_delete_counts;
DROP TABLE job_history;
DROP TABLE job_changes;
DROP TABLE job_counts;
