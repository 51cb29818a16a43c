CREATE TRIGGER refuse_jobs BEFORE INSERT ON sqluice_jobs
WHEN NEW.kind = 'refused'
BEGIN
    SELECT RAISE(ABORT, 'the application refuses');
END
