CREATE TABLE receipts (job_id BIGINT NOT NULL REFERENCES sqluice_jobs (id))
