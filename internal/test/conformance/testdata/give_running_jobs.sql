UPDATE sqluice_jobs SET worker_id = WORKER WHERE status = 'running'
