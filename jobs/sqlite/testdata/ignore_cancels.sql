CREATE TRIGGER ignore_cancels BEFORE UPDATE ON sqluice_jobs
WHEN NEW.status = 'cancelled'
BEGIN
    SELECT RAISE(IGNORE);
END
