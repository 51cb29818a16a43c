UPDATE sqluice_jobs SET crashes = 1 WHERE id % 2 = 0
