UPDATE sqluice_job_errors SET stack = ?1 WHERE job_id = ?2;
