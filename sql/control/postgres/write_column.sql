-- Sets the values of a column of a table: a JSON list of [id, value].
UPDATE @table AS t SET @column = (jsonb_populate_record(CAST(NULL AS @table), jsonb_build_object(CAST($2 AS TEXT),
    CASE WHEN CAST(pg_typeof(t.@column) AS TEXT) IN ('json', 'jsonb') THEN CAST(e.value->>1 AS jsonb) ELSE CAST(e.value->1 AS jsonb) END))).@column
FROM json_array_elements(CAST($1 AS json)) AS e (value) WHERE t.id = CAST(e.value->>0 AS BIGINT)
