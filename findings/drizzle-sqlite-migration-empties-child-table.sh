#!/bin/sh
# drizzle-kit 0.31.11 and drizzle-orm 0.45.4 with bun:sqlite of Bun 1.4.5. The migrator for better-sqlite3 did the same (over libsql 0.5.29).
#
# A column of a table gets NOT NULL in the schema. SQLite can't change a column, so drizzle-kit writes a migration that copies the table, drops
# the old one and renames the copy, between PRAGMA foreign_keys=OFF and ON. drizzle-orm's migrator runs it in a transaction, where SQLite ignores
# that pragma without an error. DROP TABLE then deletes the old table's rows first, as SQLite does while foreign keys are on, and ON DELETE CASCADE
# deletes the rows of all tables that refer to it. The migration succeeds; the table itself is complete; the tables that belong to it are empty.
# The migrator for libSQL runs the same file and keeps them.
#
# A harmless change of one table costs the data of others. This script fails when that changes.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >package.json <<'JSON'
{"private": true, "dependencies": {"drizzle-kit": "0.31.11", "drizzle-orm": "0.45.4", "@libsql/client": "0.18.0", "@oven/bun-linux-x64-baseline": "1.4.5"}}
JSON
npm install --ignore-scripts --no-audit --no-fund --no-update-notifier >/dev/null
echo 'export default { dialect: "sqlite", schema: "./schema.ts", out: "./migrations" }' >drizzle.config.ts
schema() {
	cat >schema.ts <<TS
import { sqliteTable, integer, text } from "drizzle-orm/sqlite-core"
export const job = sqliteTable("job", { id: integer("id").primaryKey(), kind: text("kind")$1 })
export const line = sqliteTable("line", { id: integer("id").primaryKey(), job: integer("job").references(() => job.id, { onDelete: "cascade" }) })
TS
	node_modules/.bin/drizzle-kit generate >log 2>&1 || { cat log >&2; exit 1; }
}
cat >bun.mjs <<'JS'
import { Database } from "bun:sqlite"
import { drizzle } from "drizzle-orm/bun-sqlite"
import { migrate } from "drizzle-orm/bun-sqlite/migrator"
const db = new Database("bun.db")
db.exec("PRAGMA foreign_keys = ON")
migrate(drizzle(db), { migrationsFolder: "migrations" })
if (process.argv[2]) db.exec(process.argv[2])
const count = table => db.prepare(`SELECT count(*) AS n FROM ${table}`).get().n
console.log(`bun:sqlite: ${count("job")} jobs, ${count("line")} lines`)
JS
cat >libsql.mjs <<'JS'
import { createClient } from "@libsql/client"
import { drizzle } from "drizzle-orm/libsql"
import { migrate } from "drizzle-orm/libsql/migrator"
const db = createClient({ url: "file:libsql.db" })
await db.execute("PRAGMA foreign_keys = ON")
await migrate(drizzle(db), { migrationsFolder: "migrations" })
if (process.argv[2]) await db.executeMultiple(process.argv[2])
const count = async table => (await db.execute(`SELECT count(*) AS n FROM ${table}`)).rows[0].n
console.log(`libSQL: ${await count("job")} jobs, ${await count("line")} lines`)
JS
rows="INSERT INTO job VALUES (1, 'a'), (2, 'b'); INSERT INTO line VALUES (1, 1), (2, 1), (3, 2)"
bun=node_modules/@oven/bun-linux-x64-baseline/bin/bun
schema ""
{ "$bun" bun.mjs "$rows"; node libsql.mjs "$rows"; } >before
schema ".notNull()"
cat migrations/0001_*.sql
{ "$bun" bun.mjs; node libsql.mjs; } >after
echo "before:"; cat before
echo "after the migration:"; cat after
printf 'bun:sqlite: 2 jobs, 3 lines\nlibSQL: 2 jobs, 3 lines\n' | diff - before
printf 'bun:sqlite: 2 jobs, 0 lines\nlibSQL: 2 jobs, 3 lines\n' | diff - after
