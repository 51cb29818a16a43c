-- +goose Up
-- The database must store texts in UTF-8.
-- +goose StatementBegin
DO $$
BEGIN
    IF current_setting('server_encoding') <> 'UTF8' THEN
        RAISE EXCEPTION 'the encoding of the database is % and must be UTF8', current_setting('server_encoding');
    END IF;
END;
$$;
-- +goose StatementEnd

-- There is no queue in another schema of the search_path: where the queue is would have two answers.
-- +goose StatementBegin
DO $$
DECLARE
    others TEXT;
BEGIN
    SELECT string_agg(CAST(n.nspname AS TEXT), ', ') INTO others FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE c.relname = 'sqluice_jobs' AND n.nspname = ANY (current_schemas(false)) AND n.nspname <> current_schema();
    IF others IS NOT NULL THEN
        RAISE EXCEPTION 'the search_path leads to a table sqluice_jobs in the schema % already: set search_path to the schema of the queue alone', others;
    END IF;
END;
$$;
-- +goose StatementEnd

-- Names that begin with sqluice_ are the queue's: none may be there yet, but for goose's own table.
-- +goose StatementBegin
DO $$
DECLARE
    taken TEXT;
BEGIN
    SELECT string_agg(DISTINCT CAST(n.name AS TEXT), ', ') INTO taken FROM (
        SELECT c.relname, c.relnamespace FROM pg_class AS c
        UNION ALL SELECT t.typname, t.typnamespace FROM pg_type AS t
        UNION ALL SELECT p.proname, p.pronamespace FROM pg_proc AS p
    ) AS n (name, place)
    WHERE n.place = CAST(quote_ident(current_schema()) AS regnamespace) AND n.name LIKE 'sqluice!_%' ESCAPE '!'
      AND n.name NOT LIKE 'sqluice!_goose!_version%' ESCAPE '!';
    IF taken IS NOT NULL THEN
        RAISE EXCEPTION 'the database has these names already, of an application or of another build of sqluice: %', taken;
    END IF;
END;
$$;
-- +goose StatementEnd

-- What a column may hold is the matter of its domain, which looks at a value when it is assigned: what the library refuses,
-- the domains refuse. Names have no control characters; texts have at most 1 MiB. (The server parses the CHECKs of a table
-- for each statement that writes to it, and looks at all columns of each row, also at a payload that did not change: that
-- was two fifths of what a claim and a finish of one job cost it.)
CREATE DOMAIN sqluice_name AS TEXT
    CONSTRAINT sqluice_name_check CHECK (length(VALUE) BETWEEN 1 AND 200 AND VALUE !~ '[\u0001-\u001f\u007f-\u009f]');
-- sqluice_json_depth returns how many levels deep the arrays and objects of a JSON text are nested, and 1001 for more. A text
-- with at most 1000 opening brackets is not looked at closer: the number of them is returned. Without its strings and scalars a
-- text consists of brackets, and each round of the loop removes the innermost ones.
-- +goose StatementBegin
CREATE FUNCTION sqluice_json_depth(document TEXT) RETURNS BIGINT LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    depth    BIGINT := octet_length(document) - octet_length(replace(replace(document, '[', ''), '{', ''));
    brackets TEXT;
BEGIN
    IF depth <= 1000 THEN
        RETURN depth;
    END IF;
    brackets := translate(regexp_replace(document, E'"([^"\\\\]|\\\\.)*"', '', 'g'),
        E'{},:0123456789+-.eEtrufalsn \t\n\r', '[]');
    depth := 0;
    WHILE brackets <> '' AND depth <= 1000 LOOP
        brackets := replace(brackets, '[]', '');
        depth := depth + 1;
    END LOOP;
    RETURN depth;
END;
$$;
-- +goose StatementEnd
-- SQLite's JSON functions refuse more than 1000 levels, which need more than 2000 bytes.
CREATE DOMAIN sqluice_json AS TEXT
    CONSTRAINT sqluice_json_check CHECK (VALUE IS NULL OR CAST(VALUE AS json) IS NOT NULL AND (octet_length(VALUE) <= 1048576
        OR VALUE LIKE '"sqluice:encrypted:%' AND octet_length(VALUE) <= 1572864)
        AND (octet_length(VALUE) <= 2000 OR sqluice_json_depth(VALUE) <= 1000));
CREATE DOMAIN sqluice_status AS TEXT
    CONSTRAINT sqluice_status_check CHECK (VALUE = 'pending' OR VALUE = 'running' OR VALUE = 'done'
        OR VALUE = 'failed' OR VALUE = 'cancelled');
CREATE DOMAIN sqluice_count AS BIGINT
    CONSTRAINT sqluice_count_check CHECK (VALUE BETWEEN 0 AND 1000000000);
-- Unix microseconds: 0, or from March 1973, which milliseconds do not reach, to the end of the year 9999.
CREATE DOMAIN sqluice_time AS BIGINT
    CONSTRAINT time_is_in_unix_microseconds CHECK (VALUE BETWEEN 100000000000000 AND 253402300799999999 OR VALUE = 0);

-- One row is one job. Times are unix microseconds, UTC.
-- A plain INSERT INTO sqluice_jobs (kind, payload) VALUES (...) from any language is a good job.
-- Every job leaves two dead rows and their index entries in the way of claims. The default is to clear them when they
-- are a fifth of the table, which is never soon enough when a million finished jobs are kept. An update that finds room in
-- its own page writes less to the log.
CREATE TABLE sqluice_jobs (
    id          BIGINT GENERATED ALWAYS AS IDENTITY (MAXVALUE 9007199254740991) PRIMARY KEY
                CHECK (id BETWEEN 1 AND 9007199254740991),
    kind        sqluice_name   NOT NULL,
    payload     sqluice_json   NOT NULL DEFAULT '{}',
    status      sqluice_status NOT NULL DEFAULT 'pending',
    attempt     sqluice_count  NOT NULL DEFAULT 0,
    created_at  sqluice_time   NOT NULL DEFAULT (CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)),
    updated_at  sqluice_time   NOT NULL DEFAULT (CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)),
    started_at  sqluice_time,
    finished_at sqluice_time
) WITH (fillfactor = 70,
        autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 10000,
        autovacuum_vacuum_insert_scale_factor = 0.0, autovacuum_vacuum_insert_threshold = 100000,
        autovacuum_vacuum_cost_limit = 2000);

CREATE INDEX sqluice_jobs_claim ON sqluice_jobs (id) WHERE status = 'pending';

-- +goose Down
DROP TABLE sqluice_jobs;
DROP DOMAIN sqluice_time;
DROP DOMAIN sqluice_count;
DROP DOMAIN sqluice_status;
DROP DOMAIN sqluice_json;
DROP FUNCTION sqluice_json_depth(TEXT);
DROP DOMAIN sqluice_name;
