enqueued 1
