UPDATE sqluice_jobs SET crashes = 0 WHERE crashes >= 1000000000
