BEGIN READ WRITE;
ALTER DATABASE @name1 RESET default_transaction_read_only;
COMMIT
