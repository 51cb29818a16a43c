-- +goose Up
-- What no worker claims: a queue's jobs of a kind, or all of them where kind is ''. A row is a pause, and goes when that ends. A plain
-- INSERT INTO sqluice_pauses (queue, kind) VALUES ('default', 'mail') is a good pause, and a DELETE ends it. A worker ends one that has
-- paused_until. paused_by, the actor, and reason are for people to see.
CREATE TABLE sqluice_pauses (
    queue        sqluice_name NOT NULL DEFAULT 'default',
    kind         TEXT         NOT NULL DEFAULT '' CHECK (length(kind) <= 200),
    paused_at    sqluice_time NOT NULL DEFAULT (CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)),
    paused_until sqluice_time,
    paused_by    sqluice_name,
    reason       TEXT CHECK (length(reason) BETWEEN 1 AND 1000),
    updated_at   sqluice_time NOT NULL DEFAULT (CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)),
    PRIMARY KEY (queue, kind)
);

-- +goose Down
DROP TABLE sqluice_pauses;
