CREATE FUNCTION ignore_cancels() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END; $$;
CREATE TRIGGER ignore_cancels BEFORE UPDATE ON sqluice_jobs FOR EACH ROW WHEN (NEW.status = 'cancelled') EXECUTE FUNCTION ignore_cancels();
