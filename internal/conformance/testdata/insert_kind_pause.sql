INSERT INTO sqluice_kind_pauses (kind) VALUES ('k') RETURNING 1
