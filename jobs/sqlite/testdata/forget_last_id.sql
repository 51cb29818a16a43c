DELETE FROM sqlite_sequence
