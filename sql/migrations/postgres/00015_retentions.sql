-- +goose Up
-- How long ended jobs are kept, where that is not for each worker to say. A rule is for the jobs that ended with a status: those of
-- one kind unless kind is '', and of one queue unless queue is ''. Of several that fit, one for a kind and a queue counts before one
-- for a kind, that before one for a queue, and that before one for all jobs. keep is in microseconds, at least a second, and NULL for
-- ever. A plain INSERT INTO sqluice_retentions (kind, status, keep) VALUES ('mail', 'done', 3600000000) is a good rule. Rules of
-- origin 'code' come from the programs that run the kind; one of origin 'client' counts before its like.
CREATE TABLE sqluice_retentions (
    queue      TEXT NOT NULL DEFAULT '' CHECK (queue = '' OR CAST(queue AS sqluice_name) IS NOT NULL),
    kind       TEXT NOT NULL DEFAULT '' CHECK (kind = '' OR CAST(kind AS sqluice_name) IS NOT NULL),
    status     TEXT NOT NULL DEFAULT 'done' CHECK (status IN ('done', 'failed', 'cancelled')),
    keep       BIGINT CONSTRAINT keep_is_in_microseconds CHECK (keep BETWEEN 1000000 AND 3153600000000000),
    origin     TEXT NOT NULL DEFAULT 'client' CHECK (origin IN ('client', 'code')),
    updated_by sqluice_name,
    updated_at sqluice_time NOT NULL DEFAULT (CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)),
    PRIMARY KEY (status, kind, queue, origin)
);

-- +goose Down
DROP TABLE sqluice_retentions;
