SELECT count(*) FROM pg_locks AS l JOIN pg_stat_activity AS a ON a.pid = l.pid AND a.state = 'idle'
WHERE l.locktype = 'advisory' AND l.granted AND (CAST(l.classid AS bigint) << 32) + CAST(l.objid AS bigint) = $1
