DELETE FROM sqluice_jobs WHERE id = (SELECT MAX(j.id) FROM sqluice_jobs AS j)
