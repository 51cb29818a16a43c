CREATE TABLE receipts_of_jobs (id INTEGER PRIMARY KEY, job_id BIGINT NOT NULL REFERENCES sqluice_jobs (id));
