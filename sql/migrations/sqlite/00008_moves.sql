-- +goose Up
-- A row closes the queue: no job is added and no worker starts. 'out' says that the queue was moved to another
-- database, 'in' that one is being moved here and is not complete. token is the same on both sides of a move.
CREATE TABLE sqluice_moves (
    direction  TEXT    NOT NULL PRIMARY KEY CHECK (direction IN ('in', 'out')),
    token      TEXT    NOT NULL CHECK (instr(token, char(0)) = 0 AND length(CAST(token AS BLOB)) <= 1048576),
    peer       TEXT    NOT NULL CHECK (instr(peer, char(0)) = 0 AND length(CAST(peer AS BLOB)) <= 1048576),
    started_at INTEGER NOT NULL
               CONSTRAINT started_at_is_in_unix_microseconds
               CHECK (started_at BETWEEN 100000000000000 AND 253402300799999999 OR started_at = 0)
) STRICT;

-- +goose Down
-- Without the table a closed queue would be open, and its jobs may be in another database too.
-- (A CHECK would not do: the library's own connection does not look at them.)
-- +goose StatementBegin
CREATE TRIGGER sqluice_moves_left BEFORE DELETE ON sqluice_moves
BEGIN
    SELECT RAISE(ABORT, 'the queue is closed by a move: reopen it first');
END;
-- +goose StatementEnd
DELETE FROM sqluice_moves;
DROP TABLE sqluice_moves;
