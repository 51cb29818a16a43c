-- +goose Up
-- A table of jobs that an earlier build made has other defaults than 00003 gives: such a database cannot be migrated.
-- +goose StatementBegin
DO $$
DECLARE
    found TEXT;
BEGIN
    SELECT COALESCE(pg_get_expr(d.adbin, d.adrelid), 'none') INTO found
    FROM pg_attribute AS a LEFT JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE a.attrelid = CAST('sqluice_jobs' AS regclass) AND a.attname = 'max_attempts';
    IF found <> '0' THEN
        RAISE EXCEPTION 'the database has a queue of an earlier build of sqluice, which cannot be migrated: %',
            'use another schema, or drop its tables. The default of sqluice_jobs.max_attempts is not 0, but ' || found;
    END IF;
END;
$$;
-- +goose StatementEnd

-- The migrations of the project from this one on, each with a row that it adds itself. A program of schema version N runs on a newer
-- schema while no row has a runs_from above N. What the owner of the database adds has no row here.
CREATE TABLE sqluice_schema_versions (
    version   BIGINT PRIMARY KEY,
    runs_from BIGINT NOT NULL, -- programs of this schema version and newer run on the schema
    CHECK (version BETWEEN 17 AND 9999999999999 AND runs_from BETWEEN 17 AND version)
);

COMMENT ON COLUMN sqluice_schema_versions.runs_from IS 'programs of this schema version and newer run on the schema';

-- Programs of older versions do not know the table.
INSERT INTO sqluice_schema_versions (version, runs_from) VALUES (17, 17);

-- +goose Down
DROP TABLE sqluice_schema_versions;
