SAVEPOINT sqluice
