-- +goose Up
-- What no worker claims: a queue's jobs of a kind, or all of them where kind is ''. A row is a pause, and goes when that ends. A plain
-- INSERT INTO sqluice_pauses (queue, kind) VALUES ('default', 'mail') is a good pause, and a DELETE ends it. A worker ends one that has
-- paused_until. paused_by, the actor, and reason are for people to see.
CREATE TABLE sqluice_pauses (
    queue        TEXT    NOT NULL DEFAULT 'default'
                 CHECK (length(queue) BETWEEN 1 AND 200 AND instr(queue, char(0)) = 0),
    kind         TEXT    NOT NULL DEFAULT ''
                 CHECK (length(kind) <= 200 AND instr(kind, char(0)) = 0),
    paused_at    INTEGER NOT NULL DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000)
                 CONSTRAINT paused_at_is_in_unix_microseconds
                 CHECK (paused_at BETWEEN 100000000000000 AND 253402300799999999 OR paused_at = 0),
    paused_until INTEGER
                 CONSTRAINT paused_until_is_in_unix_microseconds
                 CHECK (paused_until BETWEEN 100000000000000 AND 253402300799999999 OR paused_until = 0),
    paused_by    TEXT
                 CHECK (length(paused_by) BETWEEN 1 AND 200 AND instr(paused_by, char(0)) = 0),
    reason       TEXT
                 CHECK (length(reason) BETWEEN 1 AND 1000 AND instr(reason, char(0)) = 0),
    updated_at   INTEGER NOT NULL DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000)
                 CONSTRAINT updated_at_is_in_unix_microseconds
                 CHECK (updated_at BETWEEN 100000000000000 AND 253402300799999999 OR updated_at = 0),
    PRIMARY KEY (queue, kind)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE sqluice_pauses;
