CREATE TRIGGER ignore_some_inserts BEFORE INSERT ON sqluice_jobs WHEN NEW.payload LIKE '%3%'
BEGIN
    SELECT RAISE(IGNORE);
END
