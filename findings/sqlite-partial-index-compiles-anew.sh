#!/bin/sh
# SQLite 3.54 by github.com/ncruces/go-sqlite3 v0.37.0, which shows SQLite's own counter of compilations (SQLITE_STMTSTATUS_REPREPARE).
#
# A prepared statement with `status = ?` is compiled once and run 1000 times. Then a partial index with `WHERE status = 'pending'` joins the
# table, for another query. From then on each binding of the first statement's parameter has SQLite compile it anew at its next run: the planner
# compared the parameter with the index's literal, so the plan depends on the value. It does so with values that no such index has, and
# also while the statement goes on using another index. A partial index on another column does not do this.
#
# So the usual index of a job table, `WHERE status = 'pending'`, takes from all statements with a parameter for the status what preparing them
# was to save, the more the longer they are. A literal in place of the parameter avoids it, and so does CAST(? AS TEXT). This script fails when that
# changes.
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
	"fmt"
	"os"
	"time"

	"github.com/ncruces/go-sqlite3"
)

const (
	runs  = 1000
	plain = "?"
	cast  = "CAST(? AS TEXT)"
	query = `SELECT a.id, (SELECT count(*) FROM job b WHERE b.queue = a.queue AND b.id < a.id), (SELECT max(c.id) FROM job c WHERE c.queue = a.queue)
		FROM job a WHERE a.status = %s ORDER BY a.id LIMIT 10`
)

func main() {
	changed := false
	for _, c := range []struct {
		name, parameter, index string
		want                   int
	}{
		{"no partial index", plain, "", 0},
		{"a partial index on another column", plain, "CREATE INDEX part ON job (id) WHERE queue = 'mail'", 0},
		{"a partial index on the status", plain, "CREATE INDEX part ON job (id) WHERE status = 'pending'", runs},
		{"a partial index on the status, CAST", cast, "CREATE INDEX part ON job (id) WHERE status = 'pending'", 0},
	} {
		compiled, took := compilations(c.parameter, c.index)
		fmt.Printf("%s: compiled anew %d times in %d runs (%d us a run)\n", c.name, compiled, runs, took.Microseconds()/runs)
		if compiled != c.want {
			fmt.Fprintln(os.Stderr, "expected:", c.want)
			changed = true
		}
	}
	if changed {
		os.Exit(1)
	}
}

func compilations(parameter, index string) (int, time.Duration) {
	db, err := sqlite3.Open(":memory:")
	check(err)
	defer db.Close()
	check(db.Exec(`CREATE TABLE job (id INTEGER PRIMARY KEY, queue TEXT NOT NULL, status TEXT NOT NULL);
		CREATE INDEX by_status ON job (status, id); CREATE INDEX by_queue ON job (queue, id);
		INSERT INTO job (queue, status) SELECT 'a', 'done' FROM json_each('[1,2,3,4,5,6,7,8,9,10]');` + index))
	statement, _, err := db.Prepare(fmt.Sprintf(query, parameter))
	check(err)
	defer statement.Close()
	start := time.Now()
	for range runs {
		check(statement.BindText(1, "failed"))
		for statement.Step() {
		}
		check(statement.Reset())
	}
	return statement.Status(sqlite3.STMTSTATUS_REPREPARE, false), time.Since(start)
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
GO
go get github.com/ncruces/go-sqlite3@v0.37.0 2>/dev/null
go mod tidy >/dev/null 2>&1
go run .
