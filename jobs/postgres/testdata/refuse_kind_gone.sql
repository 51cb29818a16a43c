DROP TRIGGER refuse_kind ON sqluice_jobs;
DROP FUNCTION refuse_kind;
