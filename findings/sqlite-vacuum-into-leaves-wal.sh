#!/bin/sh
# SQLite 3.54.1 by modernc.org/sqlite v1.62.0.
#
# WAL mode is a property of the file: it is set once, by a migration or by hand, and each program that opens the file later is in WAL mode.
# VACUUM INTO makes a complete copy, with user_version, application_id and the AUTOINCREMENT counters, but the copy is in the mode DELETE.
# The backup interface keeps WAL. So a service that is restored from such a backup works, until a reader and a writer meet: a write beside
# an open reader, which went on in the original, waits for it and then fails with "database is locked".
#
# The difference shows after the restore, under load. This script fails when that changes.
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
	"fmt"
	"os"
	"strings"

	"modernc.org/sqlite"
)

func main() {
	ctx := context.Background()
	db := open("original.db")
	defer db.Close()
	for _, s := range []string{
		"PRAGMA journal_mode = WAL", "PRAGMA user_version = 7", "CREATE TABLE job (id INTEGER PRIMARY KEY AUTOINCREMENT)",
		"INSERT INTO job VALUES (41), (42)", "DELETE FROM job WHERE id = 42", "VACUUM INTO 'vacuumed.db'",
	} {
		_, err := db.Exec(s)
		check(err)
	}
	conn, err := db.Conn(ctx)
	check(err)
	check(conn.Raw(func(driver any) error {
		backup, err := driver.(interface {
			NewBackup(string) (*sqlite.Backup, error)
		}).NewBackup("copied.db")
		if err != nil {
			return err
		}
		if _, err = backup.Step(-1); err != nil {
			return err
		}
		return backup.Finish()
	}))
	check(conn.Close())

	changed := false
	for _, c := range []struct{ file, want string }{
		{"original.db", "mode wal, user_version 7, next id 43; a write beside a reader: ok"},
		{"copied.db", "mode wal, user_version 7, next id 43; a write beside a reader: ok"},
		{"vacuumed.db", "mode delete, user_version 7, next id 43; a write beside a reader: locked"},
	} {
		seen := outcome(c.file)
		fmt.Printf("%s: %s\n", c.file, seen)
		if seen != c.want {
			fmt.Fprintln(os.Stderr, "expected:", c.want)
			changed = true
		}
	}
	if changed {
		os.Exit(1)
	}
}

func outcome(file string) string {
	db := open(file)
	defer db.Close()
	var mode string
	var version, last int
	check(db.QueryRow("PRAGMA journal_mode").Scan(&mode))
	check(db.QueryRow("PRAGMA user_version").Scan(&version))
	check(db.QueryRow("SELECT seq FROM sqlite_sequence").Scan(&last))

	reader, err := db.Begin()
	check(err)
	defer reader.Rollback()
	var n int
	check(reader.QueryRow("SELECT count(*) FROM job").Scan(&n))
	write := "ok"
	if _, err = db.Exec("INSERT INTO job DEFAULT VALUES"); err != nil && strings.Contains(err.Error(), "locked") {
		write = "locked"
	} else {
		check(err)
	}
	return fmt.Sprintf("mode %s, user_version %d, next id %d; a write beside a reader: %s", mode, version, last+1, write)
}

func open(file string) *sql.DB {
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(200)")
	check(err)
	return db
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
