DELETE FROM receipts;
DROP TRIGGER refuse_some ON sqluice_jobs;
DROP TRIGGER refuse_pauses ON sqluice_pauses;
DROP TRIGGER refuse_emptying ON sqluice_jobs;
