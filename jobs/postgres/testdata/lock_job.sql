SELECT j.id FROM sqluice_jobs AS j WHERE j.id = $1 FOR UPDATE
