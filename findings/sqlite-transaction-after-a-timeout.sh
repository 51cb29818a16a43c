#!/bin/sh
# modernc.org/sqlite v1.62.0 (SQLite 3.54) under database/sql, Go 1.26. github.com/mattn/go-sqlite3 v1.14.53 and github.com/ncruces/go-sqlite3
# v0.37.0 do the same.
#
# A statement of a *sql.Tx gets a context of its own with a timeout, because it may fail without harm. When the time is over in the middle of
# an INSERT, UPDATE or DELETE, the driver interrupts it, and SQLite then rolls back the whole transaction, not only the statement. The error is
# an ordinary context.DeadlineExceeded, and the *sql.Tx stays usable: its next statement succeeds, outside of any transaction, and is durable at
# once. Rollback can't take it back. A SELECT that times out, or an INSERT that violates a constraint, leaves the transaction as it was.
#
# So "debit, optional clean-up with a timeout, enqueue the job" ends with the job and without the debit, also where the program rolls back.
# This script fails when that changes.
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
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite"
)

const numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000000) "

func main() {
	changed := false
	for _, c := range []struct{ name, middle, want string }{
		{"a constraint fails", "INSERT INTO note VALUES (NULL)", "refused; next ok; rollback ok; rows: none"},
		{"a SELECT times out", numbers + "SELECT count(*) FROM n", "timed out; next ok; rollback ok; rows: none"},
		{"an INSERT times out", numbers + "INSERT INTO note SELECT 'filler' FROM n", "timed out; next ok; rollback refused; rows: enqueued"},
	} {
		seen := outcome(c.middle)
		fmt.Printf("%s: %s\n", c.name, seen)
		if seen != c.want {
			fmt.Fprintln(os.Stderr, "expected:", c.want)
			changed = true
		}
	}
	if changed {
		os.Exit(1)
	}
}

func outcome(middle string) string {
	dir, err := os.MkdirTemp("", "")
	check(err)
	defer os.RemoveAll(dir)
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "a.db")+"?_pragma=journal_mode(wal)")
	check(err)
	defer db.Close()
	_, err = db.Exec("CREATE TABLE note (line TEXT NOT NULL)")
	check(err)

	tx, err := db.Begin()
	check(err)
	_, err = tx.Exec("INSERT INTO note VALUES ('debited')")
	check(err)
	limited, stop := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer stop()
	said := "refused"
	if _, err = tx.ExecContext(limited, middle); err == nil {
		said = "succeeded"
	} else if errors.Is(err, context.DeadlineExceeded) {
		said = "timed out"
	}
	said += "; next " + result(execute(tx, "INSERT INTO note VALUES ('enqueued')"), "failed")
	said += "; rollback " + result(tx.Rollback(), "refused")
	var left string
	check(db.QueryRow("SELECT coalesce(group_concat(line), 'none') FROM note").Scan(&left))
	return said + "; rows: " + left
}

func execute(tx *sql.Tx, statement string) error {
	_, err := tx.Exec(statement)
	return err
}

func result(err error, otherwise string) string {
	if err == nil {
		return "ok"
	}
	return otherwise
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
