CREATE TABLE budget (n INTEGER CHECK (n >= 0));
INSERT INTO budget (n) VALUES (2);
CREATE TRIGGER spend AFTER INSERT ON sqluice_jobs BEGIN UPDATE budget SET n = n - 1; END;
