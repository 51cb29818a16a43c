# 42 jobs failed.
enqueued 42
command sqluice work --exec 'resize=sh -c "exit 65"' --drain
