INSERT INTO receipts (job_id) VALUES ($1)
