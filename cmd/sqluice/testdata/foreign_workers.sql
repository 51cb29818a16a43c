CREATE TABLE sqluice_workers (title text);
