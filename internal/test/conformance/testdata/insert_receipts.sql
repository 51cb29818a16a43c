INSERT INTO receipts (job_id) SELECT j.id FROM sqluice_jobs AS j WHERE j.status IN ('done', 'cancelled') AND j.id % 50 = 5 RETURNING job_id;
