CREATE FUNCTION meddle_with_inserts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    CASE NEW.kind
    WHEN 'held' THEN
        NEW.status := 'scheduled';
        NEW.run_after := NEW.run_after + 3600000000;
    WHEN 'changed' THEN
        NEW.payload := '"changed"';
        NEW.priority := 7;
    WHEN 'ignored' THEN
        IF NEW.status = 'running' THEN
            RETURN NULL;
        END IF;
    ELSE
        IF NEW.status = 'running' THEN
            RAISE 'the application refuses';
        END IF;
    END CASE;
    RETURN NEW;
END;
$$;
CREATE TRIGGER meddle_with_inserts BEFORE INSERT ON jobs FOR EACH ROW
    WHEN (NEW.kind <> 'k') EXECUTE FUNCTION meddle_with_inserts();
