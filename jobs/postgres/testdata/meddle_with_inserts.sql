CREATE FUNCTION meddle_with_inserts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    CASE NEW.kind
    WHEN 'held' THEN
        NEW.status := 'scheduled';
        NEW.run_after := NEW.run_after + 3600000000;
    WHEN 'late' THEN
        NEW.run_after := NEW.run_after + 3600000000;
    WHEN 'routed' THEN
        NEW.queue := 'elsewhere';
    WHEN 'pended' THEN
        NEW.status := 'pending';
    WHEN 'changed' THEN
        NEW.payload := '"changed"';
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
CREATE TRIGGER meddle_with_inserts BEFORE INSERT ON sqluice_jobs FOR EACH ROW
    WHEN (NEW.kind <> 'k') EXECUTE FUNCTION meddle_with_inserts();
