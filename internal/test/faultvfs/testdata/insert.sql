INSERT INTO words (word) VALUES (?);
