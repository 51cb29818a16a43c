-- +goose Up
-- A request id is taken for as long as the row of its job is kept. Of the live jobs of a kind at most one has a unique key, and at most
-- one more waits for its end as its successor: that one is scheduled, successor_at is its own run_after, and its run_after is the last
-- time of all meanwhile. When the other job has ended, a worker gives it its run_after, and NULL in place of successor_at.
CREATE UNIQUE INDEX sqluice_jobs_request ON sqluice_jobs (kind, request_id) WHERE request_id IS NOT NULL;
CREATE UNIQUE INDEX sqluice_jobs_unique ON sqluice_jobs (kind, unique_key)
    WHERE unique_key IS NOT NULL AND successor_at IS NULL AND status IN ('scheduled', 'pending', 'running');
CREATE UNIQUE INDEX sqluice_jobs_successor ON sqluice_jobs (kind, unique_key) WHERE successor_at IS NOT NULL;

-- Unique keys that are taken until a time, whatever becomes of the job that took them.
CREATE TABLE sqluice_unique_keys (
    kind       sqluice_name NOT NULL,
    unique_key sqluice_key  NOT NULL,
    taken_at   sqluice_time NOT NULL,
    until      sqluice_time NOT NULL,
    job_id     sqluice_id,
    PRIMARY KEY (kind, unique_key)
);

CREATE INDEX sqluice_unique_keys_until ON sqluice_unique_keys (until);

-- +goose Down
DROP TABLE sqluice_unique_keys;
DROP INDEX sqluice_jobs_successor;
DROP INDEX sqluice_jobs_unique;
DROP INDEX sqluice_jobs_request;
-- A successor would wait for ever. It is cancelled, and counted as such.
INSERT INTO sqluice_job_changes (at, queue, kind, event, times, jobs)
SELECT MAX(updated_at), queue, kind, 'cancelled', 0, COUNT(*) FROM sqluice_jobs WHERE successor_at IS NOT NULL GROUP BY queue, kind;
UPDATE sqluice_jobs SET status = 'cancelled', finished_at = updated_at, run_after = successor_at, successor_at = NULL
WHERE successor_at IS NOT NULL;
