#!/usr/bin/env bash
# Runs every fuzz target for FUZZTIME (default 10 s each). Arguments select targets by a part of their name. A failing
# input is written below testdata/fuzz, where every later `go test` runs it: commit it with the fix.
set -euo pipefail
cd "$(dirname "$0")/../../.."
time=${FUZZTIME:-10s}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
said=$work/said
failed=() ran=0

chosen() { # TARGET PART...
    local target=$1 part
    shift
    [[ $# = 0 ]] && return
    for part; do [[ $target = *"$part"* ]] && return; done
    return 1
}

# fuzz FOLDER TARGET: the binary of a package, which is made once, runs all its targets.
fuzz() {
    local binary=$work/${1//\//_}
    if [[ ! -e $binary ]]; then
        go test -c -fuzz . -o "$binary" "./$1"
    fi
    (cd "$1" && "$binary" -test.run '^$' -test.fuzz "^$2\$" -test.fuzztime "$time" -test.fuzzcachedir "$(go env GOCACHE)/fuzz/$1")
}

while IFS=: read -r file target; do
    chosen "$target" "$@" || continue
    ran=$((ran + 1))
    echo "== $target, $(dirname "$file"), $time"
    if fuzz "$(dirname "$file")" "$target" >"$said" 2>&1; then
        tail -n 3 "$said" | grep -v '^PASS' || true
        continue
    fi
    # Go calls it a failure when the time ends while a worker is busy: no input failed then.
    if ! grep -q 'Failing input written' "$said" && grep -q '^    context deadline exceeded$' "$said"; then
        echo "ended in the middle of an input"
        continue
    fi
    cat "$said"
    failed+=("$target")
done < <(grep -rn --include='*_test.go' -o '^func Fuzz[A-Za-z0-9]*' . | sed -E 's|^\./||; s/:[0-9]+:func /:/' | sort)

if [[ $ran = 0 ]]; then
    echo "no fuzz target has that name" >&2
    exit 1
fi
if [[ ${#failed[@]} -gt 0 ]]; then
    echo "failed: ${failed[*]}" >&2
    exit 1
fi
echo "$ran targets, no failure"
