CREATE TRIGGER refuse_kind BEFORE INSERT ON sqluice_jobs
WHEN NEW.kind = 'refused'
BEGIN
    SELECT RAISE(ABORT, 'no such job today');
END
