ALTER TABLE sqluice_jobs ADD COLUMN tenant TEXT NOT NULL DEFAULT 'none' CHECK (tenant <> '');
CREATE TABLE receipts (job_id BIGINT NOT NULL REFERENCES sqluice_jobs (id));
CREATE INDEX receipts_job ON receipts (job_id);
CREATE TABLE balance (n BIGINT NOT NULL CHECK (n >= 0));
INSERT INTO balance VALUES (0);
CREATE UNIQUE INDEX one_per_user ON sqluice_jobs (user_id) WHERE status = 'running';
CREATE UNIQUE INDEX one_waits ON sqluice_jobs (user_id) WHERE status = 'pending' AND kind = 'waits';
CREATE FUNCTION refuse_some() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.kind = 'stuck' THEN
        IF OLD.status = 'running' THEN
            RAISE 'no way out today';
        END IF;
    ELSIF NEW.kind = 'k' THEN
        IF NEW.status = 'pending' AND OLD.status = 'running' AND NEW.id % 50 = 6 THEN
            RAISE 'no rescue today';
        END IF;
    ELSIF NEW.status = 'done' AND NEW.id % 50 = 1 THEN
        RAISE 'no end today';
    ELSIF NEW.status = 'running' AND NEW.id % 50 = 2 THEN
        RAISE 'no claim today' USING ERRCODE = 'XX999';
    ELSIF NEW.status IN ('pending', 'waiting') AND OLD.status = 'scheduled' AND NEW.id % 50 = 3 THEN
        RAISE 'no promotion today';
    ELSIF NEW.status = 'cancelled' AND OLD.attempt = 0 AND NEW.id % 50 = 7 THEN
        RAISE 'no expiry today';
    ELSIF NEW.status = 'done' AND NEW.id % 50 = 4 THEN
        UPDATE balance SET n = n - 1;
    END IF;
    RETURN NEW;
END;
$$;
CREATE TRIGGER refuse_some BEFORE UPDATE ON sqluice_jobs FOR EACH ROW
    WHEN (NEW.status <> OLD.status AND NEW.kind IN ('many', 'k', 'stuck')) EXECUTE FUNCTION refuse_some();
CREATE FUNCTION refuse_renewal() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no renewal today'; END; $$;
CREATE TRIGGER refuse_renewal BEFORE UPDATE OF lease_until ON sqluice_jobs FOR EACH ROW
    WHEN (NEW.status = 'running' AND OLD.status = 'running' AND NEW.kind = 'renewed' AND NEW.id % 50 = 8) EXECUTE FUNCTION refuse_renewal();
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no change today'; END; $$;
CREATE TRIGGER refuse_changes BEFORE UPDATE ON sqluice_jobs FOR EACH ROW
    WHEN (NEW.status IN ('scheduled', 'pending', 'cancelled') AND NEW.kind = 'changed' AND NEW.id % 50 = 9) EXECUTE FUNCTION refuse_change();
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not today'; END; $$;
CREATE TRIGGER refuse_history BEFORE INSERT ON sqluice_job_history FOR EACH ROW WHEN (NEW.kind = 'uncounted') EXECUTE FUNCTION refuse();
CREATE TRIGGER refuse_workers BEFORE DELETE ON sqluice_workers FOR EACH ROW WHEN (OLD.name = 'kept') EXECUTE FUNCTION refuse();
CREATE TRIGGER refuse_emptying BEFORE UPDATE OF payload ON sqluice_jobs FOR EACH ROW
    WHEN (NEW.payload <> OLD.payload AND NEW.kind = 'emptied') EXECUTE FUNCTION refuse();
CREATE TRIGGER refuse_pauses BEFORE DELETE ON sqluice_pauses FOR EACH ROW WHEN ('kept' IN (OLD.queue, OLD.kind)) EXECUTE FUNCTION refuse();
