ALTER DATABASE @name1 SET default_transaction_read_only = on
