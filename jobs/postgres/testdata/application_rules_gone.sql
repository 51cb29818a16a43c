DELETE FROM receipts;
DROP TRIGGER refuse_some ON sqluice_jobs;
