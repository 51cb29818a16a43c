UPDATE sqluice_jobs SET region = 'so"uth ' || id, size = id * 1000, share = 0.1 WHERE id > 1
