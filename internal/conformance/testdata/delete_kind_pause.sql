DELETE FROM sqluice_kind_pauses WHERE queue = 'default' AND kind = 'k' RETURNING 1
