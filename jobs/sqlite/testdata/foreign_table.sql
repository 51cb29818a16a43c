CREATE TABLE notes (text TEXT)
