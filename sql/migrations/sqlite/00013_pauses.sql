-- +goose Up
-- A pause may end by itself: a worker ends it then.
ALTER TABLE sqluice_queues ADD COLUMN paused_until INTEGER CHECK (paused_until BETWEEN 0 AND 253402300799999999);

-- +goose Down
ALTER TABLE sqluice_queues DROP COLUMN paused_until;
