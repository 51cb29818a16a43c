DROP TABLE queue.jobs
