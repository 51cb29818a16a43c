# One job failed.
echo '{}' | command sqluice enqueue charge --stdin >/dev/null
command sqluice work --exec 'charge=sh -c "exit 65"' --drain
