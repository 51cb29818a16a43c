CREATE TRIGGER refuse_claims BEFORE UPDATE OF status ON sqluice_jobs
WHEN NEW.kind = 'unclaimed' AND NEW.status = 'running'
BEGIN
    SELECT RAISE(ABORT, 'the application refuses');
END
