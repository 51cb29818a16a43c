ALTER DATABASE @name1 SET statement_timeout = '300ms';
ALTER DATABASE @name1 SET lock_timeout = '50ms';
ALTER DATABASE @name1 SET idle_in_transaction_session_timeout = '50ms';
