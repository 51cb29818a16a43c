-- +goose Up
-- A pause may end by itself: a worker ends it then.
ALTER TABLE sqluice_queues ADD COLUMN paused_until sqluice_time;

-- +goose Down
ALTER TABLE sqluice_queues DROP COLUMN paused_until;
