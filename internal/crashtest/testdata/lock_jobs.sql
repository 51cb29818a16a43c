SELECT j.id FROM jobs AS j WHERE j.queue = $1 FOR UPDATE
