INSERT INTO invoices (id, job_id) SELECT j.id, j.id FROM sqluice_jobs AS j WHERE j.status <> 'deleted';
