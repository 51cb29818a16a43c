-- +goose Up
-- A pause may end by itself: a worker ends it then.
ALTER TABLE sqluice_queues ADD COLUMN paused_until INTEGER CONSTRAINT paused_until_is_in_unix_microseconds CHECK (paused_until BETWEEN 100000000000000 AND 253402300799999999 OR paused_until = 0);

-- +goose Down
ALTER TABLE sqluice_queues DROP COLUMN paused_until;
