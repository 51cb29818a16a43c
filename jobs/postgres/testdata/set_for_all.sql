ALTER DATABASE @name1 SET @setting
