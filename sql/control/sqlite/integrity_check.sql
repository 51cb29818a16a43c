PRAGMA integrity_check(10)
