CREATE TRIGGER roll_back_at_random BEFORE INSERT ON sqluice_jobs WHEN random() > 0
BEGIN
    SELECT RAISE(ROLLBACK, 'by chance');
END
