SELECT j.id FROM jobs AS j WHERE j.id = $1 FOR UPDATE
