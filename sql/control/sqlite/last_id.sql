SELECT CAST(coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'sqluice_jobs'), 0) AS INTEGER)
