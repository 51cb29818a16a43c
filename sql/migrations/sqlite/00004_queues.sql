-- +goose Up
-- The names that this migration makes must be free.
CREATE TEMP TABLE sqluice_taken (names TEXT);
-- +goose StatementBegin
CREATE TEMP TRIGGER sqluice_taken_names BEFORE INSERT ON sqluice_taken
BEGIN
    SELECT RAISE(ABORT, 'the database has these names already, of an application or of another build of sqluice: ' || NEW.names);
END;
-- +goose StatementEnd
INSERT INTO sqluice_taken (names)
SELECT t.names FROM (SELECT group_concat(n.name, ', ') AS names FROM (
    SELECT s.name FROM main.sqlite_schema AS s WHERE lower(s.name) IN (
        'sqluice_queues'
    ) ORDER BY s.name
) AS n) AS t WHERE t.names IS NOT NULL;
DROP TABLE sqluice_taken;

-- Jobs of several queues share the table.
ALTER TABLE sqluice_jobs ADD COLUMN queue TEXT NOT NULL DEFAULT 'default'
    CHECK (queue = 'default' OR length(queue) BETWEEN 1 AND 200 AND instr(queue, char(0)) = 0
           AND queue NOT GLOB '*[^ -~' || char(160, 45, 1114111) || ']*');

-- A queue needs no row; a row says that it is paused.
CREATE TABLE sqluice_queues (
    name       TEXT    NOT NULL PRIMARY KEY
               CHECK (length(name) BETWEEN 1 AND 200 AND instr(name, char(0)) = 0
                      AND name NOT GLOB '*[^ -~' || char(160, 45, 1114111) || ']*'),
    paused_at  INTEGER CONSTRAINT paused_at_is_in_unix_microseconds CHECK (paused_at BETWEEN 100000000000000 AND 253402300799999999 OR paused_at = 0),
    updated_at INTEGER NOT NULL CONSTRAINT updated_at_is_in_unix_microseconds CHECK (updated_at BETWEEN 100000000000000 AND 253402300799999999 OR updated_at = 0)
) STRICT;

-- kind is in the index, so that rows that no worker here can run cost a claim nothing.
DROP INDEX sqluice_jobs_claim;
CREATE INDEX sqluice_jobs_claim ON sqluice_jobs (queue, kind, priority DESC, run_after, id) WHERE status = 'pending';

-- +goose Down
DROP INDEX sqluice_jobs_claim;
CREATE INDEX sqluice_jobs_claim ON sqluice_jobs (priority DESC, run_after, id) WHERE status = 'pending';
DROP TABLE sqluice_queues;
ALTER TABLE sqluice_jobs DROP COLUMN queue;
