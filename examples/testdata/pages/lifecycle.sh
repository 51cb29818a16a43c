# A queue with jobs of the kind that is paused.
enqueued 2
