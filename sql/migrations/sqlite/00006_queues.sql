-- +goose Up
-- A queue needs no row. A row says that the queue is paused, by whom, and until when: a worker ends such a pause.
CREATE TABLE sqluice_queues (
    name         TEXT    NOT NULL PRIMARY KEY
                 CHECK (length(name) BETWEEN 1 AND 200 AND instr(name, char(0)) = 0),
    paused_at    INTEGER
                 CONSTRAINT paused_at_is_in_unix_microseconds
                 CHECK (paused_at BETWEEN 100000000000000 AND 253402300799999999 OR paused_at = 0),
    updated_at   INTEGER NOT NULL
                 CONSTRAINT updated_at_is_in_unix_microseconds
                 CHECK (updated_at BETWEEN 100000000000000 AND 253402300799999999 OR updated_at = 0),
    paused_until INTEGER
                 CONSTRAINT paused_until_is_in_unix_microseconds
                 CHECK (paused_until BETWEEN 100000000000000 AND 253402300799999999 OR paused_until = 0),
    paused_by    TEXT
                 CHECK (length(paused_by) BETWEEN 1 AND 200 AND instr(paused_by, char(0)) = 0)
) STRICT;

-- +goose Down
DROP TABLE sqluice_queues;
