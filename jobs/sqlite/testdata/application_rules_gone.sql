DELETE FROM receipts;
DROP TRIGGER refuse_some;
