-- +goose Up
-- What of a kind's jobs only its handler may see, as paths: 'card.number' of the payload, '*' for all of it. A kind that has
-- no row hides nothing.
CREATE TABLE sqluice_sensitive_fields (
    kind      sqluice_name NOT NULL,
    path      sqluice_key  NOT NULL,
    marked_at sqluice_time NOT NULL,
    PRIMARY KEY (kind, path)
);

-- +goose Down
DROP TABLE sqluice_sensitive_fields;
