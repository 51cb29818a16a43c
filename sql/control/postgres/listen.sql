LISTEN @name
