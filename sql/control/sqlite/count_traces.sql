-- What any program has put into the database: tables and the like, and the numbers that mark a file as its own.
SELECT (SELECT count(*) FROM sqlite_schema)
    + (SELECT application_id <> 0 FROM pragma_application_id)
    + (SELECT user_version <> 0 FROM pragma_user_version)
