DELETE FROM receipts;
DROP TRIGGER refuse_some ON sqluice_jobs;
DROP TRIGGER refuse_queues ON sqluice_queues;
DROP TRIGGER refuse_kinds ON sqluice_kind_pauses;
