CREATE TRIGGER add_beside_alike AFTER INSERT ON jobs WHEN NEW.kind = 'alike'
BEGIN
    INSERT INTO jobs (kind) VALUES ('beside');
END
