-- +goose Up
-- How long ended jobs are kept, where that is not for each worker to say. A rule is for the jobs that ended with a status: those of
-- one kind unless kind is '', and of one queue unless queue is ''. Of several that fit, one for a kind and a queue counts before one
-- for a kind, that before one for a queue, and that before one for all jobs. keep is in microseconds, at least a second, and NULL for
-- ever. A plain INSERT INTO sqluice_retentions (kind, status, keep) VALUES ('mail', 'done', 3600000000) is a good rule. Rules of
-- origin 'code' come from the programs that run the kind; one of origin 'client' counts before its like.
CREATE TABLE sqluice_retentions (
    queue      TEXT    NOT NULL DEFAULT ''
               CHECK (length(queue) BETWEEN 0 AND 200 AND instr(queue, char(0)) = 0),
    kind       TEXT    NOT NULL DEFAULT ''
               CHECK (length(kind) BETWEEN 0 AND 200 AND instr(kind, char(0)) = 0),
    status     TEXT    NOT NULL DEFAULT 'done' CHECK (status IN ('done', 'failed', 'cancelled')),
    keep       INTEGER CONSTRAINT keep_is_in_microseconds CHECK (keep BETWEEN 1000000 AND 3153600000000000),
    origin     TEXT    NOT NULL DEFAULT 'client' CHECK (origin IN ('client', 'code')),
    updated_by TEXT
               CHECK (length(updated_by) BETWEEN 1 AND 200 AND instr(updated_by, char(0)) = 0),
    updated_at INTEGER NOT NULL DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000)
               CONSTRAINT updated_at_is_in_unix_microseconds
               CHECK (updated_at BETWEEN 100000000000000 AND 253402300799999999 OR updated_at = 0),
    PRIMARY KEY (status, kind, queue, origin)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE sqluice_retentions;
