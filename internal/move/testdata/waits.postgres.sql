SELECT EXISTS (
    SELECT 1 FROM pg_locks AS l JOIN pg_database AS d ON d.oid = l.database
    WHERE d.datname = current_database() AND l.locktype = 'relation' AND NOT l.granted
)
