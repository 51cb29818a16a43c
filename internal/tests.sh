#!/usr/bin/env bash
# tests.sh FLAGS...: runs `go test FLAGS` on the packages of this module and, meanwhile, of the modules in it that MODULES names, one after
# the other. Those have requirements of their own, which no program that imports this module gets.
# ONLY matches packages to test, SKIP packages to leave out. FIRST are those of them that begin first.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

packages() { go list ./... | { grep -E "${ONLY:-.}" || true; } | { grep -vE "${SKIP:-^$}" || true; }; }

# first PACKAGE...: prints those that FIRST names.
first() {
    local name
    for name in ${FIRST:-}; do
        printf '%s\n' "$@" | grep "${name#.}\$" || true
    done
}

inside() {
    local module code=0
    for module in ${MODULES:-}; do
        pushd "$module" >/dev/null
        packages >"$work/packages"
        if [[ -s $work/packages ]]; then
            xargs go test "$@" <"$work/packages" || code=1
        fi
        popd >/dev/null
    done
    return "$code"
}

inside "$@" >"$work/out" &
code=0
if list=$(packages); then
    # shellcheck disable=SC2046,SC2086 # a word a package
    go test "$@" $(first $list) $list || code=1
else
    code=1 # no list, so nothing was tested
fi
wait $! || code=1
cat "$work/out"
exit "$code"
