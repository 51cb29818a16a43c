-- +goose Up
-- SQLite's indexes end with the id by themselves.
SELECT 1;

-- +goose Down
SELECT 1;
