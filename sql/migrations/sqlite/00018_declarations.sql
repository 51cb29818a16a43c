-- +goose Up
-- What programs declare: settings of a kind, a schedule. A row is one content: subject is 'kind' or 'schedule', and body has what is
-- set, a JSON object; the payload and the options of a schedule are not in it. id is a hash of the whole content. A worker names the
-- contents that its program declares. Of those of one name that live workers declare, the one with the largest ordinal is in force: it
-- was seen first after the others. When none lives, the last one stays in force.
CREATE TABLE sqluice_declarations (
    id          TEXT    NOT NULL PRIMARY KEY
                CHECK (length(id) = 32 AND instr(id, char(0)) = 0 AND id NOT GLOB '*[^0-9a-f]*'),
    subject     TEXT    NOT NULL CHECK (length(subject) BETWEEN 1 AND 200 AND instr(subject, char(0)) = 0),
    name        TEXT    NOT NULL CHECK (length(name) BETWEEN 1 AND 200 AND instr(name, char(0)) = 0),
    body        TEXT    NOT NULL DEFAULT '{}'
                CHECK (json_valid(body) AND instr(body, char(0)) = 0 AND length(CAST(body AS BLOB)) <= 1048576
                       AND json_type(body) = 'object'),
    ordinal     INTEGER NOT NULL CHECK (ordinal BETWEEN 1 AND 1000000000000),
    in_force    INTEGER NOT NULL DEFAULT 0 CHECK (in_force IN (0, 1)),
    declared_at INTEGER NOT NULL
                CONSTRAINT declared_at_is_in_unix_microseconds
                CHECK (declared_at BETWEEN 100000000000000 AND 253402300799999999 OR declared_at = 0),
    -- When a worker that declares it started last.
    seen_at     INTEGER NOT NULL
                CONSTRAINT seen_at_is_in_unix_microseconds
                CHECK (seen_at BETWEEN 100000000000000 AND 253402300799999999 OR seen_at = 0)
) STRICT, WITHOUT ROWID;

CREATE INDEX sqluice_declarations_name ON sqluice_declarations (subject, name, ordinal);
CREATE UNIQUE INDEX sqluice_declarations_in_force ON sqluice_declarations (subject, name) WHERE in_force = 1;

-- The ids of the declarations of the worker's program. Programs of before name their schedules in the column schedules.
ALTER TABLE sqluice_workers ADD COLUMN declares TEXT NOT NULL DEFAULT '[]'
    CHECK (json_valid(declares) AND instr(declares, char(0)) = 0 AND length(CAST(declares AS BLOB)) <= 1048576
           AND json_type(declares) = 'array');

-- Programs of version 17 run on.
INSERT INTO sqluice_schema_versions (version, runs_from) VALUES (18, 17);

-- +goose Down
DELETE FROM sqluice_schema_versions WHERE version = 18;
ALTER TABLE sqluice_workers DROP COLUMN declares;
DROP TABLE sqluice_declarations;
