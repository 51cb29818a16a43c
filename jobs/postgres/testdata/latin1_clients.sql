ALTER DATABASE @name1 SET client_encoding = 'LATIN1'
