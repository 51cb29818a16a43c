SELECT id, word FROM words ORDER BY id
