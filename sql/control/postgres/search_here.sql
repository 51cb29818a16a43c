-- Names that are not of the schema stand with that of theirs in the texts of the catalogue.
SELECT set_config('search_path', $1, true), set_config('statement_timeout', '0', true)
