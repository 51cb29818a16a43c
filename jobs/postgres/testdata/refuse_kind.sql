CREATE FUNCTION refuse_kind() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no such job today'; END; $$;
CREATE TRIGGER refuse_kind BEFORE INSERT ON sqluice_jobs FOR EACH ROW WHEN (NEW.kind = 'refused') EXECUTE FUNCTION refuse_kind();
