INSERT INTO sqluice_pauses (kind) VALUES ('k') RETURNING 1
