CREATE TRIGGER hold_inserts AFTER INSERT ON sqluice_jobs WHEN NEW.kind = 'held'
BEGIN
    UPDATE sqluice_jobs SET status = 'scheduled', run_after = run_after + 3600000000 WHERE id = NEW.id;
END;
CREATE TRIGGER delay_inserts AFTER INSERT ON sqluice_jobs WHEN NEW.kind = 'late'
BEGIN
    UPDATE sqluice_jobs SET run_after = run_after + 3600000000 WHERE id = NEW.id;
END;
CREATE TRIGGER route_inserts AFTER INSERT ON sqluice_jobs WHEN NEW.kind = 'routed'
BEGIN
    UPDATE sqluice_jobs SET queue = 'elsewhere' WHERE id = NEW.id;
END;
CREATE TRIGGER pend_inserts AFTER INSERT ON sqluice_jobs WHEN NEW.kind = 'pended'
BEGIN
    UPDATE sqluice_jobs SET status = 'pending' WHERE id = NEW.id;
END;
CREATE TRIGGER change_inserts AFTER INSERT ON sqluice_jobs WHEN NEW.kind = 'changed'
BEGIN
    UPDATE sqluice_jobs SET payload = '"changed"' WHERE id = NEW.id;
END;
CREATE TRIGGER refuse_running_inserts BEFORE INSERT ON sqluice_jobs WHEN NEW.kind = 'refused' AND NEW.status = 'running'
BEGIN
    SELECT RAISE(ABORT, 'the application refuses');
END;
CREATE TRIGGER ignore_running_inserts BEFORE INSERT ON sqluice_jobs WHEN NEW.kind = 'ignored' AND NEW.status = 'running'
BEGIN
    SELECT RAISE(IGNORE);
END;
CREATE TRIGGER undo_running_inserts BEFORE INSERT ON sqluice_jobs WHEN NEW.kind = 'undone' AND NEW.status = 'running'
BEGIN
    SELECT RAISE(ROLLBACK, 'the application refuses');
END
