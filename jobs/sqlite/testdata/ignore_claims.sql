CREATE TRIGGER ignore_claims BEFORE UPDATE ON jobs WHEN NEW.status = 'running' AND OLD.priority = 5
BEGIN
    SELECT RAISE(IGNORE);
END
