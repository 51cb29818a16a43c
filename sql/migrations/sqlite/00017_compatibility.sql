-- +goose Up
-- A table of jobs that an earlier build made has other defaults than 00003 gives: such a database cannot be migrated.
CREATE TEMP TABLE sqluice_earlier (found TEXT);
-- +goose StatementBegin
CREATE TEMP TRIGGER sqluice_earlier_build BEFORE INSERT ON sqluice_earlier
BEGIN
    SELECT RAISE(ABORT, 'the database has a queue of an earlier build of sqluice, which cannot be migrated: use another file, '
        || 'or drop its tables. The default of sqluice_jobs.max_attempts is not 0, but ' || NEW.found);
END;
-- +goose StatementEnd
INSERT INTO sqluice_earlier (found)
SELECT COALESCE(c.dflt_value, 'none') FROM pragma_table_info('sqluice_jobs') AS c
WHERE c.name = 'max_attempts' AND c.dflt_value IS NOT '0';
DROP TABLE sqluice_earlier;

-- The migrations of the project from this one on, each with a row that it adds itself. A program of schema version N runs on a newer
-- schema while no row has a runs_from above N. What the owner of the database adds has no row here.
CREATE TABLE sqluice_schema_versions (
    version   INTEGER PRIMARY KEY,
    runs_from INTEGER NOT NULL, -- programs of this schema version and newer run on the schema
    CHECK (version BETWEEN 17 AND 9999999999999 AND runs_from BETWEEN 17 AND version)
) STRICT;

-- Programs of older versions do not know the table.
INSERT INTO sqluice_schema_versions (version, runs_from) VALUES (17, 17);

-- +goose Down
DROP TABLE sqluice_schema_versions;
