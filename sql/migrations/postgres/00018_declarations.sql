-- +goose Up
-- What programs declare: settings of a kind, a schedule. A row is one content: subject is 'kind' or 'schedule', and body has what is
-- set, a JSON object; the payload and the options of a schedule are not in it. id is a hash of the whole content. A worker names the
-- contents that its program declares. Of those of one name that live workers declare, the one with the largest ordinal is in force: it
-- was seen first after the others. When none lives, the last one stays in force.
CREATE TABLE sqluice_declarations (
    id          TEXT          NOT NULL PRIMARY KEY CHECK (id ~ '^[0-9a-f]{32}$'),
    subject     sqluice_name  NOT NULL,
    name        sqluice_name  NOT NULL,
    body        sqluice_json  NOT NULL DEFAULT '{}' CHECK (json_typeof(CAST(body AS json)) = 'object'),
    ordinal     sqluice_total NOT NULL CHECK (ordinal > 0),
    in_force    BIGINT        NOT NULL DEFAULT 0 CHECK (in_force IN (0, 1)),
    declared_at sqluice_time  NOT NULL,
    -- When a worker that declares it started last.
    seen_at     sqluice_time  NOT NULL
);

CREATE INDEX sqluice_declarations_name ON sqluice_declarations (subject, name, ordinal);
CREATE UNIQUE INDEX sqluice_declarations_in_force ON sqluice_declarations (subject, name) WHERE in_force = 1;

-- The ids of the declarations of the worker's program. Programs of before name their schedules in the column schedules.
ALTER TABLE sqluice_workers ADD COLUMN declares sqluice_json NOT NULL DEFAULT '[]' CHECK (json_typeof(CAST(declares AS json)) = 'array');

-- Programs of version 17 run on.
INSERT INTO sqluice_schema_versions (version, runs_from) VALUES (18, 17);

-- +goose Down
DELETE FROM sqluice_schema_versions WHERE version = 18;
ALTER TABLE sqluice_workers DROP COLUMN declares;
DROP TABLE sqluice_declarations;
