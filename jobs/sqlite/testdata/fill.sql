INSERT INTO filler (data) VALUES (zeroblob(?1))
