DELETE FROM sqluice_jobs WHERE id = JOB
