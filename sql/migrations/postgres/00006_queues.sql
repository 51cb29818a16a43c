-- +goose Up
-- A queue needs no row. A row says that the queue is paused, by whom, and until when: a worker ends such a pause.
CREATE TABLE sqluice_queues (
    name         sqluice_name NOT NULL PRIMARY KEY,
    paused_at    sqluice_time,
    updated_at   sqluice_time NOT NULL,
    paused_until sqluice_time,
    paused_by    sqluice_name
);

-- +goose Down
DROP TABLE sqluice_queues;
