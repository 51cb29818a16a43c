UPDATE sqluice_schedules SET origin = 'code' RETURNING 1
