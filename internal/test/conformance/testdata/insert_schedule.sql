INSERT INTO sqluice_schedules (name, kind, spec, MORE_COLUMNS) VALUES ('plain', 'k', '@every 1s', MORE_VALUES) RETURNING 1
