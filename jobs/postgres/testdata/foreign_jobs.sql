CREATE TABLE jobs (title text)
