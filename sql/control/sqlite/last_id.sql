SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'jobs'), 0)
