ALTER TABLE sqluice_jobs ADD COLUMN tenant TEXT NOT NULL DEFAULT 'none' CHECK (tenant <> '');
CREATE TABLE receipts (job_id INTEGER NOT NULL REFERENCES sqluice_jobs (id));
CREATE INDEX receipts_job ON receipts (job_id);
CREATE TABLE balance (n INTEGER NOT NULL CHECK (n >= 0));
INSERT INTO balance VALUES (0);
CREATE UNIQUE INDEX one_per_user ON sqluice_jobs (user_id) WHERE status = 'running';
CREATE UNIQUE INDEX one_waits ON sqluice_jobs (user_id) WHERE status = 'pending' AND kind = 'waits';
CREATE TRIGGER refuse_some BEFORE UPDATE OF status ON sqluice_jobs
WHEN NEW.status <> OLD.status
BEGIN
    SELECT RAISE(ABORT, 'no end today') WHERE NEW.status = 'done' AND NEW.kind = 'many' AND NEW.id % 50 = 1;
    SELECT RAISE(ABORT, 'no claim today') WHERE NEW.status = 'running' AND NEW.kind = 'many' AND NEW.id % 50 = 2;
    SELECT RAISE(ABORT, 'no promotion today') WHERE NEW.status IN ('pending', 'waiting') AND OLD.status = 'scheduled' AND NEW.kind = 'many' AND NEW.id % 50 = 3;
    SELECT RAISE(ABORT, 'no rescue today') WHERE NEW.status = 'pending' AND OLD.status = 'running' AND NEW.kind = 'k' AND NEW.id % 50 = 6;
    SELECT RAISE(ABORT, 'no way out today') WHERE OLD.status = 'running' AND NEW.kind = 'stuck';
    SELECT RAISE(ABORT, 'no expiry today') WHERE NEW.status = 'cancelled' AND OLD.attempt = 0 AND NEW.kind = 'many' AND NEW.id % 50 = 7;
    UPDATE balance SET n = n - 1 WHERE NEW.status = 'done' AND NEW.kind = 'many' AND NEW.id % 50 = 4;
END;
CREATE TRIGGER refuse_renewal BEFORE UPDATE OF lease_until ON sqluice_jobs
WHEN NEW.status = 'running' AND OLD.status = 'running' AND NEW.kind = 'renewed' AND NEW.id % 50 = 8
BEGIN
    SELECT RAISE(ABORT, 'no renewal today');
END;
CREATE TRIGGER refuse_changes BEFORE UPDATE ON sqluice_jobs
WHEN NEW.status IN ('scheduled', 'pending', 'cancelled') AND NEW.kind = 'changed' AND NEW.id % 50 = 9
BEGIN
    SELECT RAISE(ABORT, 'no change today');
END;
CREATE TRIGGER refuse_history BEFORE INSERT ON sqluice_job_history WHEN NEW.kind = 'uncounted'
BEGIN
    SELECT RAISE(ABORT, 'no history today');
END;
CREATE TRIGGER refuse_workers BEFORE DELETE ON sqluice_workers WHEN OLD.name = 'kept'
BEGIN
    SELECT RAISE(ABORT, 'this worker is kept');
END;
CREATE TRIGGER refuse_emptying BEFORE UPDATE OF payload ON sqluice_jobs WHEN NEW.payload <> OLD.payload AND NEW.kind = 'emptied'
BEGIN
    SELECT RAISE(ABORT, 'no emptying today');
END;
CREATE TRIGGER refuse_pauses BEFORE DELETE ON sqluice_pauses WHEN 'kept' IN (OLD.queue, OLD.kind)
BEGIN
    SELECT RAISE(ABORT, 'this pause is kept');
END;
