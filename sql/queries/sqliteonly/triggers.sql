-- name: CountForeignTriggers :one
-- CountForeignTriggers counts the triggers on jobs that are not the queue's own. Without one a single INSERT adds every row of its
-- SELECT and gives ids without a gap.
SELECT CAST(COALESCE((
    SELECT COUNT(*) FROM sqlite_schema AS s
    WHERE s.type = 'trigger' AND lower(s.tbl_name) = 'sqluice_jobs' AND s.name NOT GLOB 'sqluice_*'
), 0) AS BIGINT) AS triggers;
