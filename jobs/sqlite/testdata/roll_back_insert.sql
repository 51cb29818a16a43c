CREATE TRIGGER roll_back_insert BEFORE INSERT ON sqluice_jobs WHEN NEW.payload = '"boom"'
BEGIN
    SELECT RAISE(ROLLBACK, 'boom');
END
