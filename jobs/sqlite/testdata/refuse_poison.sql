CREATE TRIGGER refuse_poison BEFORE UPDATE OF status ON sqluice_jobs
WHEN NEW.kind = 'poison' AND NEW.status = 'done'
BEGIN
    SELECT RAISE(ABORT, 'the application refuses');
END
