TRUNCATE queue.jobs
