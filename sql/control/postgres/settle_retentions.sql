LOCK TABLE sqluice_retentions IN SHARE MODE
