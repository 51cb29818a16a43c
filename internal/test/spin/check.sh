#!/usr/bin/env bash
# Searches every state of lease.pml with spin. Unchanged it must hold; without a safeguard its assertion must fail.
# Needs spin (https://spinroot.com; Debian has a package of that name) and gcc.
set -euo pipefail
model=$(cd "$(dirname "$0")" && pwd)/lease.pml
for tool in spin gcc; do
    command -v "$tool" >/dev/null || { echo "$tool is missing: on Debian, apt-get install spin gcc" >&2; exit 1; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# search NAME: writes spin's output to the file said.
search() {
    spin -a "-D$1" "$model"
    # -w: the model's own assertions check the array bounds that gcc warns of.
    gcc -w -O2 -DSAFETY -DCOLLAPSE -o pan pan.c
    ./pan -m1000000 -w22 >said 2>&1
    if grep -Eq 'search depth too small|out of memory' said; then
        cat said
        echo "$1: the search did not see every state" >&2
        exit 1
    fi
}

search WHOLE
if ! grep -q 'errors: 0$' said || grep -q 'Search not completed' said; then
    cat said
    echo "the model does not hold" >&2
    exit 1
fi
states=$(sed -n 's/^ *\([0-9]*\) states, stored$/\1/p' said)
echo "holds in all $states states"

# fails WITHOUT VIOLATION: the model must fail with this violation.
fails() {
    search "$1"
    if ! grep -Fq "$2" said; then
        cat said
        echo "$1: not caught by $2" >&2
        exit 1
    fi
    echo "$1 fails: $2"
}

fails NO_FENCE 'assertion violated (holding==_pid)'
fails NO_ATTEMPT 'assertion violated (holding==_pid)'
fails NO_STATUS 'assertion violated (holding==_pid)'
fails FALLING 'assertion violated (begun[mine]==1)'
fails NO_RESCUE 'invalid end state (at depth'
fails HASTY 'assertion violated  !(up[dead])'
