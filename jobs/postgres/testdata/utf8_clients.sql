ALTER DATABASE @name1 RESET client_encoding
