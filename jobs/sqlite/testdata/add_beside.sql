CREATE TRIGGER add_beside AFTER INSERT ON jobs WHEN NEW.kind = 'k'
BEGIN
    INSERT INTO jobs (kind) VALUES ('beside');
END
