# Job 42 was retried by a person, and a server runs.
enqueued 42
command sqluice cancel 42
command sqluice retry 42
sqluice serve
