-- +goose Up
-- Higher priority runs first; not before run_after, up to the end of the year 9999.
ALTER TABLE jobs ADD COLUMN priority BIGINT NOT NULL DEFAULT 0 CHECK (priority BETWEEN -32768 AND 32767);
ALTER TABLE jobs ADD COLUMN run_after BIGINT NOT NULL DEFAULT (CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT))
    CHECK (run_after BETWEEN 0 AND 253402300799999999);
UPDATE jobs SET run_after = created_at;
ALTER TABLE jobs DROP CONSTRAINT jobs_status_check;
ALTER TABLE jobs ADD CONSTRAINT jobs_status_check
    CHECK (status = 'pending' OR status = 'running' OR status = 'done'
                       OR status = 'scheduled' OR status = 'failed' OR status = 'cancelled');

DROP INDEX jobs_claim;
CREATE INDEX jobs_claim ON jobs (priority DESC, run_after, id) WHERE status = 'pending';
CREATE INDEX jobs_due ON jobs (run_after) WHERE status = 'scheduled';

-- A plain INSERT with a run_after in the future must not run early, nor stand in the way of due work.
-- The first comparison spares the library's own inserts the call.
-- +goose StatementBegin
CREATE FUNCTION jobs_not_due() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.run_after > CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT) THEN
        NEW.status := 'scheduled';
    END IF;
    RETURN NEW;
END;
$$;
-- +goose StatementEnd
CREATE TRIGGER jobs_not_due BEFORE INSERT ON jobs FOR EACH ROW
    WHEN (NEW.status = 'pending' AND NEW.run_after > NEW.created_at)
    EXECUTE FUNCTION jobs_not_due();

-- +goose Down
DROP TRIGGER jobs_not_due ON jobs;
DROP FUNCTION jobs_not_due();
DROP INDEX jobs_due;
DROP INDEX jobs_claim;
UPDATE jobs SET status = 'pending' WHERE status = 'scheduled';
ALTER TABLE jobs DROP CONSTRAINT jobs_status_check;
ALTER TABLE jobs ADD CONSTRAINT jobs_status_check
    CHECK (status = 'pending' OR status = 'running' OR status = 'done'
                       OR status = 'failed' OR status = 'cancelled');
ALTER TABLE jobs DROP COLUMN run_after;
ALTER TABLE jobs DROP COLUMN priority;
CREATE INDEX jobs_claim ON jobs (id) WHERE status = 'pending';
