-- +goose Up
-- A row closes the queue: no job is added and no worker starts. 'out' says that the queue was moved to another
-- database, 'in' that one is being moved here and is not complete. token is the same on both sides of a move.
CREATE TABLE moves (
    direction  TEXT   NOT NULL PRIMARY KEY CHECK (direction IN ('in', 'out')),
    token      TEXT   NOT NULL CHECK (octet_length(token) <= 1048576),
    peer       TEXT   NOT NULL CHECK (octet_length(peer) <= 1048576),
    started_at BIGINT NOT NULL CHECK (started_at BETWEEN 0 AND 253402300799999999)
);

-- +goose Down
-- A queue that is closed must not be open because nobody knows any more: its jobs may be somewhere else too.
LOCK TABLE moves IN ACCESS EXCLUSIVE MODE;
-- +goose StatementBegin
DO $$
BEGIN
    IF EXISTS (SELECT 1 FROM moves) THEN
        RAISE EXCEPTION 'the queue is closed by a move: reopen it first';
    END IF;
END;
$$;
-- +goose StatementEnd
DROP TABLE moves;
