-- +goose Up
-- What the database refused to do with a job, as for a foreign key, a unique index or a trigger of the application. The job is
-- set aside for this action until again_at, so that it keeps no other from it. 'conflict' is a promotion or a claim that another
-- job's key prevents. A row whose job has another status by now means nothing, and the runners remove it.
CREATE TABLE sqluice_refusals (
    job_id   sqluice_id    NOT NULL,
    action   TEXT          NOT NULL
             CHECK (action IN ('promote', 'claim', 'conflict', 'renew', 'end', 'rescue', 'prune', 'expire')),
    times    sqluice_count NOT NULL CHECK (times > 0),
    message  sqluice_text  NOT NULL,
    first_at sqluice_time  NOT NULL,
    last_at  sqluice_time  NOT NULL,
    again_at sqluice_time  NOT NULL,
    PRIMARY KEY (job_id, action)
);

-- +goose Down
DROP TABLE sqluice_refusals;
