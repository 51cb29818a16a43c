CREATE FUNCTION ignore_pause() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END; $$;
CREATE TRIGGER ignore_new_pauses BEFORE INSERT ON sqluice_pauses FOR EACH ROW WHEN (NEW.queue = 'ignored') EXECUTE FUNCTION ignore_pause();
CREATE TRIGGER ignore_longer_pauses BEFORE UPDATE ON sqluice_pauses FOR EACH ROW EXECUTE FUNCTION ignore_pause();
CREATE TRIGGER ignore_resumes BEFORE DELETE ON sqluice_pauses FOR EACH ROW EXECUTE FUNCTION ignore_pause();
