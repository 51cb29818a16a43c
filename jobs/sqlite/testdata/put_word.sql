INSERT OR REPLACE INTO words (id, word) VALUES (?1, ?2)
