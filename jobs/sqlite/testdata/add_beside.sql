CREATE TRIGGER add_beside AFTER INSERT ON sqluice_jobs WHEN NEW.kind = 'k'
BEGIN
    INSERT INTO sqluice_jobs (kind) VALUES ('beside');
END
