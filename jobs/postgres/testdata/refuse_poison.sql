CREATE FUNCTION refuse_poison() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE 'the application refuses';
END;
$$;
CREATE TRIGGER refuse_poison BEFORE UPDATE ON sqluice_jobs FOR EACH ROW
    WHEN (NEW.kind = 'poison' AND NEW.status = 'done') EXECUTE FUNCTION refuse_poison();
