CREATE SEQUENCE claims;
CREATE FUNCTION refuse_claims() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF nextval('claims') IN (500, 1000, 1001, 2000) THEN
        RAISE 'the application refuses';
    END IF;
    RETURN NEW;
END;
$$;
CREATE TRIGGER refuse_claims BEFORE UPDATE ON sqluice_jobs FOR EACH ROW
    WHEN (NEW.status = 'running' AND OLD.status = 'pending') EXECUTE FUNCTION refuse_claims();
