-- +goose Up
-- A row closes the queue: no job is added and no worker starts. 'out' says that the queue was moved to another
-- database, 'in' that one is being moved here and is not complete. token is the same on both sides of a move.
CREATE TABLE sqluice_moves (
    direction  TEXT         NOT NULL PRIMARY KEY CHECK (direction IN ('in', 'out')),
    token      sqluice_text NOT NULL,
    peer       sqluice_text NOT NULL,
    started_at sqluice_time NOT NULL
);

-- +goose Down
-- Without the table a closed queue would be open, and its jobs may be in another database too.
LOCK TABLE sqluice_moves IN ACCESS EXCLUSIVE MODE;
-- +goose StatementBegin
DO $$
BEGIN
    IF EXISTS (SELECT 1 FROM sqluice_moves) THEN
        RAISE EXCEPTION 'the queue is closed by a move: reopen it first';
    END IF;
END;
$$;
-- +goose StatementEnd
DROP TABLE sqluice_moves;
