INSERT INTO receipts_of_jobs (id, job_id) VALUES (JOB_ID, JOB_ID);
