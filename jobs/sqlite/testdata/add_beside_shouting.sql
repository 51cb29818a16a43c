CREATE TRIGGER add_beside AFTER INSERT ON SQLUICE_JOBS WHEN NEW.kind = 'k'
BEGIN
    INSERT INTO sqluice_jobs (kind) VALUES ('beside');
END
