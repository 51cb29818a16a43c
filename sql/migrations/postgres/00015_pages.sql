-- +goose Up
-- Lists of failed and of cancelled jobs go by the id; the failed-job report of one kind by the time. (A job that is done is
-- in neither index.)
CREATE INDEX jobs_ended ON jobs (status, id) WHERE status = 'failed' OR status = 'cancelled';
CREATE INDEX jobs_failed_kind ON jobs (kind, finished_at) WHERE status = 'failed';

-- Scheduled jobs are counted in the order of an index; with that of jobs_due all of them had to be sorted for it.
CREATE INDEX jobs_scheduled ON jobs (queue, kind, run_after) WHERE status = 'scheduled';
DROP INDEX jobs_due;
CREATE INDEX jobs_due ON jobs (run_after, id) WHERE status = 'scheduled';

-- What happened is kept for each queue and kind, and from here on also added up over all kinds of a queue, all queues of
-- a kind, and both, under empty names: who looks at the whole reads as little as who looks at one kind. (Nobody adds to it
-- meanwhile.)
LOCK TABLE job_history IN SHARE ROW EXCLUSIVE MODE;
-- (A worker of this version may have gone on after a way back.)
DELETE FROM job_history WHERE queue = '' OR kind = '';
INSERT INTO job_history (step, start_at, queue, kind, event, bucket, times)
SELECT h.step, h.start_at, h.queue, '', h.event, h.bucket, CAST(SUM(h.times) AS BIGINT) FROM job_history AS h
GROUP BY h.step, h.start_at, h.queue, h.event, h.bucket
UNION ALL
SELECT h.step, h.start_at, '', h.kind, h.event, h.bucket, CAST(SUM(h.times) AS BIGINT) FROM job_history AS h
GROUP BY h.step, h.start_at, h.kind, h.event, h.bucket
UNION ALL
SELECT h.step, h.start_at, '', '', h.event, h.bucket, CAST(SUM(h.times) AS BIGINT) FROM job_history AS h
GROUP BY h.step, h.start_at, h.event, h.bucket;

-- +goose Down
DELETE FROM job_history WHERE queue = '' OR kind = '';
DROP INDEX jobs_due;
CREATE INDEX jobs_due ON jobs (run_after, id) INCLUDE (queue, kind) WHERE status = 'scheduled';
DROP INDEX jobs_scheduled;
DROP INDEX jobs_failed_kind;
DROP INDEX jobs_ended;
