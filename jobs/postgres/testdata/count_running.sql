SELECT count(*) FROM sqluice_jobs WHERE status = 'running'
