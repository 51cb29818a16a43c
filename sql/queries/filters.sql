-- name: ListJobIDsByName :many
-- ListJobIDsByName lists ids of jobs that have a status, in no order: all when they are fewer than n. Of the pending and the
-- scheduled jobs it lists those of one queue and, unless kind is empty, of one kind; of the failed jobs those of one kind.
-- Each is read from an index of its own, in its order: without an order the server may take an index of all queues.
SELECT i.id FROM (
    SELECT pp.id FROM (
        SELECT p.id FROM sqluice_jobs AS p
        WHERE p.status = 'pending' AND CAST(@status AS TEXT) = 'pending' AND p.queue = CAST(@queue AS TEXT) AND p.kind = CAST(@kind AS TEXT)
        ORDER BY p.priority DESC, p.run_after, p.id LIMIT @n) AS pp
    UNION ALL
    SELECT qq.id FROM (
        SELECT q.id FROM sqluice_jobs AS q
        WHERE q.status = 'pending' AND @status = 'pending' AND q.queue = @queue AND @kind = ''
        ORDER BY q.kind, q.priority DESC, q.run_after, q.id LIMIT @n) AS qq
    UNION ALL
    SELECT ss.id FROM (
        SELECT s.id FROM sqluice_jobs AS s
        WHERE s.status = 'scheduled' AND @status = 'scheduled' AND s.queue = @queue AND s.kind >= @kind AND s.kind <= @kind
        ORDER BY s.kind, s.run_after /* a range, whose order the index of run_after alone does not have */
        LIMIT @n) AS ss
    UNION ALL
    SELECT tt.id FROM (
        SELECT t.id FROM sqluice_jobs AS t
        WHERE t.status = 'scheduled' AND @status = 'scheduled' AND t.queue = @queue AND @kind = ''
        ORDER BY t.kind, t.run_after LIMIT @n) AS tt
    UNION ALL
    SELECT ff.id FROM (
        SELECT f.id FROM sqluice_jobs AS f
        WHERE f.status = 'failed' AND @status = 'failed' AND f.kind = @kind
        ORDER BY f.finished_at LIMIT @n) AS ff
) AS i LIMIT @n;
