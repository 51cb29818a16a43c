#!/usr/bin/env bash
# Runs every fuzz target for FUZZTIME (default 10 s each). Arguments select targets by a part of their name. A failing
# input is written below testdata/fuzz, where every later `go test` runs it: commit it with the fix.
set -euo pipefail
cd "$(dirname "$0")/../.."
time=${FUZZTIME:-10s}
said=$(mktemp)
trap 'rm -f "$said"' EXIT
failed=() ran=0

chosen() { # TARGET PART...
    local target=$1 part
    shift
    [[ $# = 0 ]] && return
    for part; do [[ $target = *"$part"* ]] && return; done
    return 1
}

while IFS=: read -r file target; do
    chosen "$target" "$@" || continue
    ran=$((ran + 1))
    echo "== $target, $(dirname "$file"), $time"
    if go test "./$(dirname "$file")" -run '^$' -fuzz "^$target\$" -fuzztime "$time" >"$said" 2>&1; then
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
