#!/usr/bin/env bash
# newest.sh: runs the conformance tests of both engines with the newest release of their drivers, where go.mod has an older one.
# It says so, and does nothing, where the newest release cannot be looked up.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
format='{{with .Update}}{{$.Path}}@{{.Version}}{{end}}'
if ! newer=$(go list -m -u -f "$format" modernc.org/sqlite github.com/jackc/pgx/v5 2>"$work/err"); then
    cat "$work/err" >&2
    echo "NOT TESTED with the newest drivers: their releases cannot be looked up"
    exit 0
fi
if [[ -z $newer ]]; then
    echo "go.mod has the newest drivers"
    exit 0
fi
echo "with" $newer
cp go.mod go.sum "$work"
# shellcheck disable=SC2086 # a word a module
go get -modfile="$work/go.mod" $newer
go test -modfile="$work/go.mod" -short -timeout 30m ./jobs/sqlite ./jobs/postgres -run '^TestConformance'
