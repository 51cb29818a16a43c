-- Measures the cost of the forms of a bulk insert on PostgreSQL: decision 39. Run it in a migrated database that may be
-- emptied, on the server itself, as a superuser, with a file that the server may write for the rows of COPY:
-- psql -q -v file="$PWD/rows" -f bench/bulk_forms.sql URL. It prints microseconds a row, for statements of 1,000 rows
-- in turn.
SET jit = off;
SET enable_seqscan = off;
TRUNCATE sqluice_jobs;
CREATE TEMP TABLE forms AS
SELECT CAST(jsonb_agg(p) AS text) AS list, array_agg(p) AS items, string_agg(p, chr(30)) AS joined
FROM (SELECT '{"n":' || i || ',"pad":"' || repeat('x', 80) || '"}' AS p FROM generate_series(1, 1000) AS i) AS payloads;
COPY (SELECT 'noop', 'default', unnest(items), 'pending', 0::bigint, 1000000::bigint, 25::bigint, 0::bigint, 1000000::bigint, 1000000::bigint
      FROM forms) TO :'file' WITH (FORMAT binary);
SET bulk_forms.file = :'file';
DO $$
DECLARE
    names text[] := ARRAY['jsonb list', 'json list', 'text[]', 'separated text', 'COPY'];
    sources text[] := ARRAY['jsonb_array_elements_text(CAST(list AS jsonb))', 'json_array_elements_text(CAST(list AS json))',
        'unnest(items)', 'string_to_table(joined, chr(30))'];
    statement text;
    began timestamptz;
    r record;
BEGIN
    CREATE TEMP TABLE laps (name text, took float8);
    FOR round IN 1..60 LOOP
        FOR form IN 1..5 LOOP
            IF form = 5 THEN
                statement := format('COPY sqluice_jobs (kind, queue, payload, status, priority, run_after, max_attempts, timeout, created_at,'
                    || ' updated_at) FROM %L WITH (FORMAT binary)', current_setting('bulk_forms.file'));
            ELSE
                statement := 'INSERT INTO sqluice_jobs (kind, queue, payload, status, priority, run_after, max_attempts, timeout, user_id, tags,'
                    || ' metadata, created_at, updated_at) SELECT ''noop'', ''default'', e.value, ''pending'', 0, 1000000, 25, 0, NULL,'
                    || ' NULL, NULL, 1000000, 1000000 FROM forms, ' || sources[form] || ' WITH ORDINALITY AS e (value, n)'
                    || ' WHERE NOT EXISTS (SELECT 1 FROM sqluice_moves AS m) ORDER BY e.n';
            END IF;
            began := clock_timestamp();
            EXECUTE statement;
            INSERT INTO laps VALUES (names[form], extract(epoch FROM clock_timestamp() - began) * 1000);
        END LOOP;
    END LOOP;
    FOR r IN SELECT name, round(CAST(percentile_cont(0.5) WITHIN GROUP (ORDER BY took) AS numeric), 2) AS median,
                    round(CAST(min(took) AS numeric), 2) AS least
             FROM laps GROUP BY name ORDER BY 2 LOOP
        RAISE NOTICE '%: median %, least %', r.name, r.median, r.least;
    END LOOP;
END $$;
