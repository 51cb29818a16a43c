#!/bin/sh
# SQLite 3.54.1 by modernc.org/sqlite v1.62.0.
#
# Pages of a large table are read by row values, (tenant, name) > (?, ?), which SQLite finds by both columns of an index. That holds for
# plain parameters. Where the other side has an affinity of its own, it uses the first column alone: beside CAST(? AS TEXT), which tools that
# derive types from SQL ask for, and beside the columns of another table, as in a join or a recursive query that skips from key to key. Both
# sides are TEXT, and the result is the same, but each page reads all rows of the tenant. With integers it is the same. An expression without
# an affinity, such as CAST(? AS TEXT) || '' or CAST(? AS INTEGER) + 0, brings the second column back. PostgreSQL and a comparison of a single
# column do not care.
#
# The plans are printed, with the time of a page of ten rows in the middle of 100,000. This script fails when a plan changes.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >go.mod <<'MOD'
module try

go 1.26.0
MOD
cat >main.go <<'GO'
package main

import (
	"database/sql"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	_ "modernc.org/sqlite"
)

func main() {
	db, err := sql.Open("sqlite", "file.db")
	check(err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, s := range []string{
		"CREATE TABLE item (tenant TEXT NOT NULL, name TEXT NOT NULL, no INTEGER NOT NULL, sub INTEGER NOT NULL) STRICT",
		"CREATE INDEX by_name ON item (tenant, name)", "CREATE INDEX by_no ON item (no, sub)",
		"CREATE TABLE place (tenant TEXT NOT NULL, name TEXT NOT NULL) STRICT", "INSERT INTO place VALUES ('one', 'n050000')",
		`WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99999)
		 INSERT INTO item SELECT 'one', printf('n%06d', i), 1, i FROM n`, "ANALYZE",
	} {
		_, err := db.Exec(s)
		check(err)
	}
	var version string
	check(db.QueryRow("SELECT sqlite_version()").Scan(&version))
	fmt.Println("SQLite", version)

	changed := false
	for _, c := range []struct {
		what, from string
		args       []any
		want       string
	}{
		{"texts, parameters", "item AS i WHERE (i.tenant, i.name) > (?, ?) ORDER BY i.tenant, i.name", []any{"one", "n050000"}, "((tenant,name)>(?,?))"},
		{"texts, CAST", "item AS i WHERE (i.tenant, i.name) > (CAST(? AS TEXT), CAST(? AS TEXT)) ORDER BY i.tenant, i.name", []any{"one", "n050000"}, "(tenant>?)"},
		{"texts, CAST || ''", "item AS i WHERE (i.tenant, i.name) > (CAST(? AS TEXT) || '', CAST(? AS TEXT) || '') ORDER BY i.tenant, i.name", []any{"one", "n050000"}, "((tenant,name)>(?,?))"},
		{"texts, columns of a join", "place AS p CROSS JOIN item AS i WHERE (i.tenant, i.name) > (p.tenant, p.name) ORDER BY i.tenant, i.name", nil, "(tenant>?)"},
		{"integers, parameters", "item AS i WHERE (i.no, i.sub) > (?, ?) ORDER BY i.no, i.sub", []any{1, 50000}, "((no,sub)>(?,?))"},
		{"integers, CAST", "item AS i WHERE (i.no, i.sub) > (CAST(? AS INTEGER), CAST(? AS INTEGER)) ORDER BY i.no, i.sub", []any{1, 50000}, "(no>?)"},
		{"integers, CAST + 0", "item AS i WHERE (i.no, i.sub) > (CAST(? AS INTEGER) + 0, CAST(? AS INTEGER) + 0) ORDER BY i.no, i.sub", []any{1, 50000}, "((no,sub)>(?,?))"},
	} {
		query := "SELECT i.name FROM " + c.from + " LIMIT 10"
		plan := explain(db, query, c.args)
		var took []time.Duration
		var rows []string
		for range 11 {
			began := time.Now()
			rows = list(db, query, c.args)
			took = append(took, time.Since(began))
		}
		slices.Sort(took)
		fmt.Printf("%-26s %-24s %8d us, from %s on\n", c.what, plan, took[len(took)/2].Microseconds(), rows[0])
		changed = changed || plan != c.want || rows[0] != "n050001"
	}
	if changed {
		fmt.Println("a plan or a result has changed")
		os.Exit(1)
	}
}

// explain returns what the plan says of the search of item's index.
func explain(db *sql.DB, query string, args []any) string {
	rows, err := db.Query("EXPLAIN QUERY PLAN "+query, args...)
	check(err)
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var detail string
		check(rows.Scan(&id, &parent, &unused, &detail))
		if strings.HasPrefix(detail, "SEARCH i ") {
			return detail[strings.Index(detail, "("):]
		}
	}
	check(rows.Err())
	return "no search"
}

func list(db *sql.DB, query string, args []any) (names []string) {
	rows, err := db.Query(query, args...)
	check(err)
	defer rows.Close()
	for rows.Next() {
		var name string
		check(rows.Scan(&name))
		names = append(names, name)
	}
	check(rows.Err())
	return names
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
