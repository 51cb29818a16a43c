CREATE TRIGGER replace_some_inserts BEFORE INSERT ON jobs WHEN NEW.payload LIKE '%3%'
BEGIN
    INSERT INTO jobs (kind) VALUES ('beside');
    SELECT RAISE(IGNORE);
END
