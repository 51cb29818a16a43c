UPDATE sqluice_jobs SET id = DEFAULT WHERE id >= 4503599627370496 AND status <> 'running'
