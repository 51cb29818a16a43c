-- +goose Up
-- How many jobs of each queue and kind ended how, without reading them. A write adds what it changes of that as a row to
-- sqluice_job_changes in the same transaction. Every few seconds a worker adds those rows to the sums.
-- The names have no rules here: they were checked in the rows of jobs, and would be half of what it costs to remove a job.
CREATE TABLE sqluice_job_counts (
    queue  TEXT    NOT NULL,
    kind   TEXT    NOT NULL,
    status TEXT    NOT NULL,
    jobs   INTEGER NOT NULL CHECK (jobs BETWEEN -1000000000000 AND 1000000000000),
    PRIMARY KEY (queue, kind, status)
) STRICT, WITHOUT ROWID;

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

-- What happened in each step of time (in microseconds), and how long jobs waited and ran, by classes of durations: for each
-- queue and kind, and added up over all kinds of a queue, all queues of a kind, and both, under empty names.
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

INSERT INTO sqluice_job_counts (queue, kind, status, jobs)
SELECT queue, kind, status, COUNT(*) FROM sqluice_jobs WHERE status IN ('done', 'failed', 'cancelled')
GROUP BY queue, kind, status;

-- No other program writes meanwhile, so this goes into the sums at once.
-- +goose StatementBegin
CREATE TRIGGER sqluice_jobs_delete_counts AFTER DELETE ON sqluice_jobs
WHEN OLD.status = 'done' OR OLD.status = 'failed' OR OLD.status = 'cancelled' -- IN (...) would make a table for each row
BEGIN
    INSERT INTO sqluice_job_counts (queue, kind, status, jobs) VALUES (OLD.queue, OLD.kind, OLD.status, -1)
    ON CONFLICT (queue, kind, status) DO UPDATE SET jobs = max(jobs - 1, -1000000000000);
END;
-- +goose StatementEnd

-- +goose Down
DROP TRIGGER sqluice_jobs_delete_counts;
DROP TABLE sqluice_job_history;
DROP TABLE sqluice_job_changes;
DROP TABLE sqluice_job_counts;
