-- Sets the values of a column of a table: a JSON list of [id, value].
UPDATE @table SET @column = e.value->>1 FROM json_each($1) AS e WHERE @table.id = e.value->>0
