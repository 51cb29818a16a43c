-- +goose Up
-- What of a kind's jobs only its handler may see, as paths: 'card.number' of the payload, '*' for all of it. A kind that has
-- no row hides nothing.
CREATE TABLE sqluice_sensitive_fields (
    kind      TEXT    NOT NULL
              CHECK (length(kind) BETWEEN 1 AND 200 AND instr(kind, char(0)) = 0),
    path      TEXT    NOT NULL
              CHECK (length(path) BETWEEN 1 AND 1000 AND instr(path, char(0)) = 0),
    marked_at INTEGER NOT NULL
              CONSTRAINT marked_at_is_in_unix_microseconds
              CHECK (marked_at BETWEEN 100000000000000 AND 253402300799999999 OR marked_at = 0),
    PRIMARY KEY (kind, path)
) STRICT;

-- +goose Down
DROP TABLE sqluice_sensitive_fields;
