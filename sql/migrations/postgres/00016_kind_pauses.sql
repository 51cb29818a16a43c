-- +goose Up
-- The names that this migration makes must be free.
-- +goose StatementBegin
DO $$
DECLARE
    taken TEXT;
BEGIN
    SELECT string_agg(n.name, ', ' ORDER BY n.name) INTO taken FROM unnest(ARRAY[
        'sqluice_kind_pauses', 'sqluice_kind_pauses_pkey'
    ]) AS n (name)
    WHERE EXISTS (SELECT 1 FROM pg_class AS c WHERE c.relnamespace = CAST(quote_ident(current_schema()) AS regnamespace) AND c.relname = n.name)
       OR EXISTS (SELECT 1 FROM pg_type AS t WHERE t.typnamespace = CAST(quote_ident(current_schema()) AS regnamespace) AND t.typname = n.name)
       OR EXISTS (SELECT 1 FROM pg_proc AS p WHERE p.pronamespace = CAST(quote_ident(current_schema()) AS regnamespace) AND p.proname = n.name);
    IF taken IS NOT NULL THEN
        RAISE EXCEPTION 'the database has these names already, of an application or of another build of sqluice: %', taken;
    END IF;
END;
$$;
-- +goose StatementEnd

-- The kinds whose jobs no worker claims from a queue: a row for each, which is removed when the kind is resumed. A plain
-- INSERT INTO sqluice_kind_pauses (queue, kind) VALUES ('default', 'mail') is a good pause. A worker ends one that has paused_until.
-- paused_by is the actor of the pause, for people to see.
CREATE TABLE sqluice_kind_pauses (
    queue        sqluice_name NOT NULL DEFAULT 'default',
    kind         sqluice_name NOT NULL,
    paused_at    sqluice_time NOT NULL DEFAULT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT),
    paused_until sqluice_time,
    paused_by    sqluice_name,
    updated_at   sqluice_time NOT NULL DEFAULT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT),
    PRIMARY KEY (queue, kind)
);

-- The actor of the pause of a queue.
ALTER TABLE sqluice_queues ADD COLUMN paused_by sqluice_name;

-- +goose Down
ALTER TABLE sqluice_queues DROP COLUMN paused_by;
DROP TABLE sqluice_kind_pauses;
