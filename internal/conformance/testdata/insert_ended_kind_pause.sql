INSERT INTO sqluice_kind_pauses (queue, kind, paused_until) VALUES ('default', 'other', 0) RETURNING 1
