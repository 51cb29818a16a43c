INSERT INTO sqluice_pauses (queue, kind, paused_until) VALUES ('default', 'other', 0) RETURNING 1
