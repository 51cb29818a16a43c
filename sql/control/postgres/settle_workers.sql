LOCK TABLE sqluice_workers IN SHARE MODE
