DROP TRIGGER ignore_cancels ON sqluice_jobs;
DROP FUNCTION ignore_cancels;
