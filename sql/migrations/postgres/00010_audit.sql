-- +goose Up
-- What people changed: a row for each transaction with such a change, written in that transaction. A change of one job
-- names it in job_id; one of many lists them in job_ids, and jobs is how many.
CREATE TABLE sqluice_job_audit (
    id      BIGINT GENERATED ALWAYS AS IDENTITY (MAXVALUE 9007199254740991) PRIMARY KEY
            CHECK (id BETWEEN 1 AND 9007199254740991),
    at      sqluice_time NOT NULL,
    actor   sqluice_name NOT NULL,
    action  sqluice_name NOT NULL,
    job_id  sqluice_id,
    kind    sqluice_name,
    queue   sqluice_name,
    jobs    sqluice_total NOT NULL,
    -- Numbers of at most 19 digits: jsonb takes no number that is much longer.
    job_ids sqluice_json CHECK (job_ids ~ '^\[([0-9]{1,19}(,[0-9]{1,19})*)?\]$'),
    detail  sqluice_json
);

CREATE INDEX sqluice_job_audit_at ON sqluice_job_audit (at);
CREATE INDEX sqluice_job_audit_job ON sqluice_job_audit (job_id) WHERE job_id IS NOT NULL;
CREATE INDEX sqluice_job_audit_many ON sqluice_job_audit (id) WHERE job_ids IS NOT NULL;

-- +goose Down
DROP TABLE sqluice_job_audit;
