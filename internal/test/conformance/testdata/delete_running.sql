DELETE FROM sqluice_jobs WHERE status = 'running'
