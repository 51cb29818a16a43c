-- +goose Up
-- The kinds whose jobs no worker claims from a queue: a row for each, which is removed when the kind is resumed. A plain
-- INSERT INTO sqluice_kind_pauses (queue, kind) VALUES ('default', 'mail') is a good pause. A worker ends one that has paused_until.
-- paused_by is the actor of the pause, for people to see.
CREATE TABLE sqluice_kind_pauses (
    queue        sqluice_name NOT NULL DEFAULT 'default',
    kind         sqluice_name NOT NULL,
    paused_at    sqluice_time NOT NULL DEFAULT (CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)),
    paused_until sqluice_time,
    paused_by    sqluice_name,
    updated_at   sqluice_time NOT NULL DEFAULT (CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)),
    PRIMARY KEY (queue, kind)
);

-- +goose Down
DROP TABLE sqluice_kind_pauses;
