UPDATE sqluice_refusals SET times = 1 WHERE times >= 1000000000
