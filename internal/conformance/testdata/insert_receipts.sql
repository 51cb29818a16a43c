INSERT INTO receipts (job_id) SELECT j.id FROM sqluice_jobs AS j WHERE j.status = 'done' AND j.id % 50 = 5 RETURNING job_id;
