SELECT COALESCE(string_agg(t.name, ' ' ORDER BY t.name), '') FROM (
    SELECT 'sqluice_jobs' AS name, CAST(pg_get_serial_sequence($1, 'id') AS regclass) AS sequence, (SELECT MAX(r.id) FROM sqluice_jobs AS r) AS last
    UNION ALL SELECT 'sqluice_job_errors' AS name, CAST(pg_get_serial_sequence($2, 'id') AS regclass) AS sequence, (SELECT MAX(r.id) FROM sqluice_job_errors AS r) AS last
    UNION ALL SELECT 'sqluice_workers' AS name, CAST(pg_get_serial_sequence($3, 'id') AS regclass) AS sequence, (SELECT MAX(r.id) FROM sqluice_workers AS r) AS last
    UNION ALL SELECT 'sqluice_job_audit' AS name, CAST(pg_get_serial_sequence($4, 'id') AS regclass) AS sequence, (SELECT MAX(r.id) FROM sqluice_job_audit AS r) AS last
    UNION ALL SELECT 'sqluice_job_changes' AS name, CAST(pg_get_serial_sequence($5, 'id') AS regclass) AS sequence, (SELECT MAX(r.id) FROM sqluice_job_changes AS r) AS last
) AS t
WHERE CASE
    WHEN t.last IS NULL OR NOT has_sequence_privilege(t.sequence, 'SELECT') OR NOT has_sequence_privilege(t.sequence, 'UPDATE') THEN false
    WHEN COALESCE(pg_sequence_last_value(t.sequence), nextval(t.sequence)) < t.last THEN setval(t.sequence, t.last) > 0
    ELSE false
END
