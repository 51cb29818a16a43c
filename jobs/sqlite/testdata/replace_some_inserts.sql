CREATE TRIGGER replace_some_inserts BEFORE INSERT ON sqluice_jobs WHEN NEW.payload LIKE '%3%'
BEGIN
    INSERT INTO sqluice_jobs (kind) VALUES ('beside');
    SELECT RAISE(IGNORE);
END
