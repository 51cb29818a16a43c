#!/bin/sh
# sqlc v1.31.1 with its engine sqlite, run on modernc.org/sqlite v1.62.0. The engine mysql generates the same.
#
# For an empty list `sqlc.slice` puts NULL into the text, so that `id IN (NULL)` finds nothing, which is right. `id NOT IN (NULL)` finds nothing
# either: each comparison with NULL is unknown. So "all rows but the ones in the list" becomes "no rows at all" when the list is empty: a clean-up
# that keeps what is in use stops to remove anything once nothing is in use, and a claim that leaves out paused queues claims nothing when
# none is paused. SQLite's own `NOT IN ()` would find all rows, and so does json_each over an empty array.
#
# The first run of this script compiles sqlc. It fails when that changes.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
GOBIN="$dir" go install github.com/sqlc-dev/sqlc/cmd/sqlc@v1.31.1 2>/dev/null
cat >sqlc.json <<'JSON'
{"version": "2", "sql": [{"engine": "sqlite", "schema": "schema.sql", "queries": "queries.sql", "gen": {"go": {"package": "out", "out": "out"}}}]}
JSON
echo 'CREATE TABLE job (id INTEGER PRIMARY KEY, queue TEXT NOT NULL);' >schema.sql
cat >queries.sql <<'SQL'
-- name: CountIn :one
SELECT count(*) FROM job WHERE queue IN (sqlc.slice('queues'));

-- name: CountNotIn :one
SELECT count(*) FROM job WHERE queue NOT IN (sqlc.slice('queues'));

-- name: CountNotInJSON :one
SELECT count(*) FROM job WHERE queue NOT IN (SELECT e.value FROM json_each(CAST(sqlc.arg('queues') AS TEXT)) AS e);
SQL
./sqlc generate
cat >go.mod <<'MOD'
module try

go 1.26.0
MOD
cat >main.go <<'GO'
package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"

	_ "modernc.org/sqlite"

	"try/out"
)

func main() {
	ctx := context.Background()
	db, err := sql.Open("sqlite", ":memory:")
	check(err)
	db.SetMaxOpenConns(1) // the database is the connection's
	schema, err := os.ReadFile("schema.sql")
	check(err)
	_, err = db.Exec(string(schema) + "INSERT INTO job (queue) VALUES ('mail'), ('mail'), ('report')")
	check(err)
	q := out.New(db)
	changed := false
	for _, c := range []struct {
		queues []string
		json   string
		want   string
	}{
		{[]string{"mail"}, `["mail"]`, "IN 2, NOT IN 1, NOT IN json_each 1"},
		{[]string{"none"}, `["none"]`, "IN 0, NOT IN 3, NOT IN json_each 3"},
		{[]string{}, `[]`, "IN 0, NOT IN 0, NOT IN json_each 3"},
	} {
		in, err := q.CountIn(ctx, c.queues)
		check(err)
		notIn, err := q.CountNotIn(ctx, c.queues)
		check(err)
		notInJSON, err := q.CountNotInJSON(ctx, c.json)
		check(err)
		seen := fmt.Sprintf("IN %d, NOT IN %d, NOT IN json_each %d", in, notIn, notInJSON)
		fmt.Printf("three jobs, the list %q: %s\n", c.queues, seen)
		if seen != c.want {
			fmt.Fprintln(os.Stderr, "expected:", c.want)
			changed = true
		}
	}
	if changed {
		os.Exit(1)
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
GO
go get modernc.org/sqlite@v1.62.0 2>/dev/null
go mod tidy >/dev/null 2>&1
go run .
