-- +goose Up
-- A row closes the queue: no job is added and no worker starts. 'out' says that the queue was moved to another
-- database, 'in' that one is being moved here and is not complete. token is the same on both sides of a move.
CREATE TABLE moves (
    direction  TEXT    NOT NULL PRIMARY KEY CHECK (direction IN ('in', 'out')),
    token      TEXT    NOT NULL,
    peer       TEXT    NOT NULL,
    started_at INTEGER NOT NULL
) STRICT;

-- +goose Down
DROP TABLE moves;
