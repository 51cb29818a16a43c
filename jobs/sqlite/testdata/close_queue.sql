INSERT INTO sqluice_moves (direction, token, peer, started_at) VALUES ('out', 'token', 'somewhere', 0)
