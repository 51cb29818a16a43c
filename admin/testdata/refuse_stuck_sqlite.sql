CREATE TRIGGER refuse_stuck BEFORE UPDATE ON sqluice_jobs WHEN OLD.kind = 'stuck'
BEGIN
    SELECT RAISE(ABORT, 'not that one');
END;
