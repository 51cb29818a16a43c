-- +goose Up
-- Nothing on SQLite, which has no domains.
SELECT 1;

-- +goose Down
SELECT 1;
