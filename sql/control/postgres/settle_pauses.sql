LOCK TABLE sqluice_kind_pauses IN SHARE MODE
