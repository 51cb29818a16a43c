LISTEN @name1
