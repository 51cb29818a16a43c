UPDATE sqluice_jobs SET uncounted = 0 WHERE uncounted >= 1000000000
