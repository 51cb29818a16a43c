SELECT CAST(coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'jobs'), 0) AS INTEGER)
