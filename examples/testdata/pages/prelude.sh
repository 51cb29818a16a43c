# What stands around the commands of a page, so that they end and reach no other machine.
set -euo pipefail

# enqueued adds N jobs of the kind resize, whose ids begin with 1 in a new database.
enqueued() { seq "$1" | sed 's/.*/{"file": "&.png"}/' | command sqluice enqueue resize --stdin >/dev/null; }

# A server goes on beside the commands that follow, at a free port. A worker works off what is there.
sqluice() {
    case $1 in
    serve) served "$@" ;;
    work) command sqluice "$@" --drain ;;
    bench) command sqluice "$@" --jobs 200 ;;
    *) command sqluice "$@" ;;
    esac
}

served() {
    stopped
    rm -f serving
    mkfifo serving
    command sqluice "$@" --addr 127.0.0.1:0 >serving 2>serve.log &
    server=$!
    exec 9<serving
    read -r line <&9
    address=${line#serving http://}
    address=${address%/}
}

stopped() {
    if [[ -n ${server:-} ]]; then
        kill "$server"
        wait "$server" || true
    fi
}
trap stopped EXIT

# The server's port is not that of the page. An answer that is an error fails.
curl() { command curl --silent --show-error --fail-with-body "${@//localhost:8080/$address}"; }

# A program for jobs.
program() {
    printf '#!/bin/sh\n%s\n' "$2" >"$1"
    chmod +x "$1"
}
