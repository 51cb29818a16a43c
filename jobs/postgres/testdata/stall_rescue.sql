CREATE FUNCTION stall_rescue() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('lock_timeout', '0', true);
    PERFORM pg_advisory_xact_lock(42);
    RETURN NEW;
END;
$$;
CREATE TRIGGER stall_rescue BEFORE INSERT ON sqluice_job_errors FOR EACH ROW
    WHEN (current_setting('application_name') = 'stalls') EXECUTE FUNCTION stall_rescue();
