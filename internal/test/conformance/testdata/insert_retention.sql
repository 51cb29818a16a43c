INSERT INTO sqluice_retentions (kind, keep) VALUES ('k', 3600000000) RETURNING 1
