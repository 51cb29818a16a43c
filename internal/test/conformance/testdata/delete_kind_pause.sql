DELETE FROM sqluice_pauses WHERE queue = 'default' AND kind = 'k' RETURNING 1
