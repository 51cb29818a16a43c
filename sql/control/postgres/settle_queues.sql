LOCK TABLE sqluice_queues IN SHARE MODE
