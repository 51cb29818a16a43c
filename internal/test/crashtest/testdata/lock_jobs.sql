SELECT j.id FROM sqluice_jobs AS j WHERE j.queue = $1 FOR UPDATE
