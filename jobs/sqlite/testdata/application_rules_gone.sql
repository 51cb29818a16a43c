DELETE FROM receipts;
DROP TRIGGER refuse_some;
DROP TRIGGER refuse_pauses;
DROP TRIGGER refuse_emptying;
