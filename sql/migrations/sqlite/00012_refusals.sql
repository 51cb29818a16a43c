-- +goose Up
-- What the database refused to do with a job, as for a foreign key, a unique index or a trigger of the application. The job is
-- set aside for this action until again_at, so that it keeps no other from it. 'conflict' is a promotion or a claim that another
-- job's key prevents. A row whose job has another status by now means nothing, and the runners remove it.
CREATE TABLE sqluice_refusals (
    job_id   INTEGER NOT NULL CHECK (job_id BETWEEN 1 AND 9007199254740991),
    action   TEXT    NOT NULL
             CHECK (action IN ('promote', 'claim', 'conflict', 'renew', 'end', 'rescue', 'prune', 'expire')),
    times    INTEGER NOT NULL CHECK (times BETWEEN 1 AND 1000000000),
    message  TEXT    NOT NULL CHECK (instr(message, char(0)) = 0 AND length(CAST(message AS BLOB)) <= 1048576),
    first_at INTEGER NOT NULL
             CONSTRAINT first_at_is_in_unix_microseconds CHECK (first_at BETWEEN 100000000000000 AND 253402300799999999 OR first_at = 0),
    last_at  INTEGER NOT NULL
             CONSTRAINT last_at_is_in_unix_microseconds CHECK (last_at BETWEEN 100000000000000 AND 253402300799999999 OR last_at = 0),
    again_at INTEGER NOT NULL
             CONSTRAINT again_at_is_in_unix_microseconds CHECK (again_at BETWEEN 100000000000000 AND 253402300799999999 OR again_at = 0),
    PRIMARY KEY (job_id, action)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE sqluice_refusals;
