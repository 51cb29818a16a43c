#!/bin/sh
# libsql 0.5.29 for Node (the package with better-sqlite3's interface), one file, one writer.
#
# `run()` on an INSERT with a RETURNING clause answers `changes: 0` and an id, and leaves the statement open: nothing is committed. Until that
# statement is used again, later writes of the same connection, of other statements and in autocommit too, are not committed either, although
# they answer `changes: 1` and `inTransaction` is false. Other processes don't see the rows and, with "database is locked", can't write.
# `close()` does not commit them: a process that is killed after it loses all of it. `all()` on the same statement commits; so does `run()`
# without RETURNING.
#
# So a program that moves over from better-sqlite3, where `run()` ends the statement, acknowledges work that it hasn't stored.
# This script fails when that changes.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
echo '{"private": true, "dependencies": {"libsql": "0.5.29"}}' >package.json
npm install --ignore-scripts --no-audit --no-fund --no-update-notifier >/dev/null
cat >write.js <<'JS'
const Database = require("libsql")
const { execFileSync } = require("child_process")
const [file, how, text] = process.argv.slice(2)
const db = new Database(file)
db.exec("CREATE TABLE job (id INTEGER PRIMARY KEY, payload TEXT)")
const first = db.prepare(text)
const later = db.prepare("INSERT INTO job (payload) VALUES ('later')")
first[how]()
const said = [`later changes ${later.run().changes}`, `inTransaction ${db.inTransaction}`]
const other = execFileSync(process.execPath, ["look.js", file]).toString()
db.close()
require("fs").writeSync(1, [...said, other].join(", "))
process.kill(process.pid, "SIGKILL")
JS
cat >look.js <<'JS'
const Database = require("libsql")
const db = new Database(process.argv[2])
const count = () => db.prepare("SELECT count(*) AS n FROM job").all()[0].n
const seen = count()
let wrote
try { db.exec("INSERT INTO job (payload) VALUES ('other')"); wrote = "writes" } catch (e) { wrote = e.message }
process.stdout.write(`other process sees ${seen} and ${wrote}`)
JS
cat >try.js <<'JS'
const Database = require("libsql")
const { spawnSync } = require("child_process")
const insert = "INSERT INTO job (payload) VALUES ('first')"
const good = "later changes 1, inTransaction false, other process sees 2 and writes, 3 rows at the end"
const lost = "later changes 1, inTransaction false, other process sees 0 and database is locked, 0 rows at the end"
const cases = [["run", insert, good], ["all", insert + " RETURNING id", good], ["run", insert + " RETURNING id", lost]]
cases.forEach(([how, text, expected], i) => {
	const file = `${i}.db`
	const said = spawnSync(process.execPath, ["write.js", file, how, text], { stdio: ["ignore", "pipe", "inherit"] }).stdout.toString()
	const rows = new Database(file).prepare("SELECT count(*) AS n FROM job").all()[0].n
	const seen = `${said}, ${rows} rows at the end`
	console.log(`${how}() of ${text}: ${seen}`)
	if (seen !== expected) { console.error(`expected: ${expected}`); process.exitCode = 1 }
})
JS
node try.js
