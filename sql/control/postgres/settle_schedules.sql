LOCK TABLE sqluice_schedules IN SHARE MODE
