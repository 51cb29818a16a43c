CREATE TRIGGER ignore_claims BEFORE UPDATE ON sqluice_jobs WHEN NEW.status = 'running' AND OLD.priority = 5
BEGIN
    SELECT RAISE(IGNORE);
END
