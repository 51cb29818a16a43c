CREATE TRIGGER ignore_new_pauses BEFORE INSERT ON sqluice_pauses WHEN NEW.queue = 'ignored'
BEGIN
    SELECT RAISE(IGNORE);
END;
CREATE TRIGGER ignore_longer_pauses BEFORE UPDATE ON sqluice_pauses
BEGIN
    SELECT RAISE(IGNORE);
END;
CREATE TRIGGER ignore_resumes BEFORE DELETE ON sqluice_pauses
BEGIN
    SELECT RAISE(IGNORE);
END;
