-- +goose Up
-- SQLite reuses what deleted rows leave by itself: only PostgreSQL needs settings for it.
SELECT 1;

-- +goose Down
SELECT 1;
