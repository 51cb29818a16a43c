DELETE FROM receipts;
DROP TRIGGER refuse_some;
DROP TRIGGER refuse_queues;
DROP TRIGGER refuse_kinds;
