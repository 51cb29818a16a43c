package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// postgresTests returns the tests of features that only PostgreSQL has.
func postgresTests() map[string]func(*testing.T, *server) {
	return map[string]func(*testing.T, *server){
		"NothingIsMadeButByUp":                   nothingIsMadeButByUp,
		"DurabilityIsRefused":                    durabilityIsRefused,
		"BackupIsRefused":                        backupIsRefused,
		"SchemasHoldQueuesOfTheirOwn":            schemasHoldQueuesOfTheirOwn,
		"ProcessesMigrateTogether":               processesMigrateTogether,
		"ANewerSchemaIsRefused":                  aNewerSchemaIsRefused,
		"AForeignTableIsLeftAsItIs":              aForeignTableIsLeftAsItIs,
		"TheURLMayStandInTheCommand":             theURLMayStandInTheCommand,
		"UnknownParametersAreRefusedByTheServer": unknownParametersAreRefusedByTheServer,
		"AnUnknownDatabaseIsAFailure":            anUnknownDatabaseIsAFailure,
		"AWorkerEndsWhenItsSchemaGoes":           aWorkerEndsWhenItsSchemaGoes,
	}
}

// connect opens a connection like that of another program.
func connect(t *testing.T, address string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) }) // the server may be gone by then
	return conn
}

// execute runs the statements of a file in testdata.
func execute(t *testing.T, address, file string) {
	t.Helper()
	if _, err := connect(t, address).PgConn().Exec(t.Context(), statements(t, file)).ReadAll(); err != nil {
		t.Fatal(err)
	}
}

func statements(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// relations returns the tables, views, indexes and sequences of a database.
func relations(t *testing.T, address string) []string {
	t.Helper()
	rows, err := connect(t, address).Query(t.Context(), statements(t, "list_relations.sql"))
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// with adds a parameter to the address.
func (c *cli) with(parameter string) *cli {
	separator := "?"
	if strings.Contains(c.db, "?") {
		separator = "&"
	}
	return &cli{c.t, c.db + separator + parameter}
}

func nothingIsMadeButByUp(t *testing.T, s *server) {
	c := s.empty(t)
	for _, args := range [][]string{
		{"enqueue", "k"}, {"work", "--exec", execFlag(t, "k", "echo")}, {"work", "--drain", "--exec", execFlag(t, "k", "echo")},
		{"list"}, {"show", "1"}, {"wait", "1"}, {"failed"}, {"failed", "--all"}, {"stats"}, {"queues"}, {"workers"}, {"cancel", "1"},
		{"retry", "1"}, {"retry", "--failed"}, {"delete", "1"}, {"prune", "--older-than", "1h"}, {"queues", "pause", "q"},
	} {
		a := c.run(args...)
		if a.code != exitFailure || a.out != "" || !strings.Contains(a.err, "no sqluice schema") || !strings.Contains(a.err, "sqluice up") {
			t.Errorf("sqluice %q: %+v", args, a)
		}
	}
	c.failsWith(exitFailure, "1\n2\n", []string{"no sqluice schema", "sqluice up"}, "enqueue", "k", "--stdin")
	if s := get[schemaStatus](c, "status"); s.Schema != 0 || s.State != "pending" || !strings.HasPrefix(s.Engine, "PostgreSQL ") {
		t.Errorf("the status is %+v", s)
	}
	if out := c.ok("down"); !strings.Contains(out, "nothing to do") {
		t.Errorf("down prints %q", out)
	}
	// goose makes its own table before it looks for a migration to undo.
	left := slices.DeleteFunc(relations(t, c.db), func(name string) bool { return strings.HasPrefix(name, "sqluice_migrations") })
	if len(left) > 0 {
		t.Errorf("the database has %q", left)
	}
}

func durabilityIsRefused(t *testing.T, s *server) {
	c := s.queue(t)
	for _, value := range []string{"normal", "full"} {
		c.fails(exitUsage, []string{"--durability", "SQLite", "synchronous_commit", "--help"}, "enqueue", "k", "--durability", value)
		c.fails(exitUsage, []string{"--durability", "SQLite"}, "serve", "--addr", "127.0.0.1:0", "--durability", value)
		c.fails(exitUsage, []string{"--durability", "SQLite"}, "work", "--durability", value, "--exec", execFlag(t, "k", "echo"))
	}
	if list := get[[]jobs.Job](c, "list"); len(list) != 0 {
		t.Errorf("%d jobs were added", len(list))
	}
}

func backupIsRefused(t *testing.T, s *server) {
	c, dir := s.queue(t), t.TempDir()
	c.fails(exitFailure, []string{filepath.Join(dir, "copy") + ":", "pg_dump", "sqluice copy"}, "backup", filepath.Join(dir, "copy"))
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}

func schemasHoldQueuesOfTheirOwn(t *testing.T, s *server) {
	c := s.empty(t)
	one, two := c.with("schema=one"), c.with("schema=Two%20words")
	one.ok("up")
	one.enqueue("k")
	two.fails(exitFailure, []string{"no sqluice schema"}, "enqueue", "k")
	c.fails(exitFailure, []string{"no sqluice schema"}, "enqueue", "k")
	two.ok("up")
	two.drain(execFlag(t, "k", "echo")) // which finds nothing
	if job := one.show("1"); job.Status != jobs.StatusPending {
		t.Errorf("the job of one schema was run by the other's worker: it is %s", job.Status)
	}
	two.enqueue("k")
	two.drain(execFlag(t, "k", "echo"))
	if first, second := one.show("1").Status, two.show("1").Status; first != jobs.StatusPending || second != jobs.StatusDone {
		t.Errorf("the jobs are %s and %s", first, second)
	}
	for _, c := range []*cli{one, two} {
		if s := get[schemaStatus](c, "status"); s.Database != c.shown() || !strings.Contains(s.Database, "schema=") {
			t.Errorf("status is %+v", s)
		}
	}
}

func processesMigrateTogether(t *testing.T, s *server) {
	c := s.empty(t)
	var all []*process
	for range 5 {
		all = append(all, c.start("up"))
	}
	out := ""
	for _, p := range all {
		p.wantExit(exitOK)
		out += p.out.String()
	}
	newest := get[versions](c, "version").Schema
	for version := range newest {
		if line := fmt.Sprintf("up %05d_", version+1); strings.Count(out, line) != 1 {
			t.Errorf("%q is there %d times:\n%s", line, strings.Count(out, line), out)
		}
	}
	c.enqueue("k")
}

func aNewerSchemaIsRefused(t *testing.T, s *server) {
	c := s.queue(t)
	execute(t, c.db, "newer_schema.sql")
	for _, args := range [][]string{{"enqueue", "k"}, {"list"}, {"up"}, {"work", "--exec", execFlag(t, "k", "echo")}} {
		c.fails(exitFailure, []string{"version 999", "newer"}, args...)
	}
	if s := get[schemaStatus](c, "status"); s.State != "newer" || s.Schema != 999 {
		t.Errorf("status is %+v", s)
	}
}

func aForeignTableIsLeftAsItIs(t *testing.T, s *server) {
	c := s.empty(t)
	execute(t, c.db, "foreign_workers.sql")
	c.fails(exitFailure, []string{"sqluice_workers", "another schema"}, "up")
	c.fails(exitFailure, []string{"no sqluice schema"}, "enqueue", "k")
	if names := relations(t, c.db); !slices.Equal(names, []string{"sqluice_workers"}) {
		t.Errorf("the database has %q", names)
	}
	beside := c.with("schema=queue")
	beside.ok("up")
	beside.enqueue("k")
}

func theURLMayStandInTheCommand(t *testing.T, s *server) {
	c := s.queue(t)
	upper := &cli{t, filepath.Join(t.TempDir(), "unused.db")}
	address := strings.Replace(c.db, "postgres://", "PostgreSQL://", 1) + " "
	if id := upper.enqueue("k", "--db", address); id != "1" || c.show("1").Kind != "k" {
		t.Errorf("--db %q is not the database of %q", address, c.db)
	}
	if exists(upper.db) {
		t.Error("a file was made beside")
	}
}

func unknownParametersAreRefusedByTheServer(t *testing.T, s *server) {
	c := s.queue(t).with("pasword=secret")
	for _, args := range [][]string{{"list"}, {"enqueue", "k"}, {"up"}, {"work", "--exec", execFlag(t, "k", "echo")}} {
		a := c.run(args...)
		silent(t, fmt.Sprint(args), a, exitFailure)
		if !strings.Contains(a.err, `"pasword"`) {
			t.Errorf("sqluice %q does not name the parameter:\n%s", args, a.err)
		}
	}
}

func anUnknownDatabaseIsAFailure(t *testing.T, s *server) {
	d := s.queue(t).db
	parsed, err := pgx.ParseConfig(d)
	if err != nil {
		t.Fatal(err)
	}
	c := &cli{t, strings.Replace(d, parsed.Database, "nosuch", 1)}
	for _, args := range [][]string{{"list"}, {"status"}, {"up"}, {"down"}, {"enqueue", "k"}, {"work", "--exec", execFlag(t, "k", "echo")}} {
		c.fails(exitFailure, []string{`"nosuch"`, "does not exist"}, args...)
	}
}

func aWorkerEndsWhenItsSchemaGoes(t *testing.T, s *server) {
	c := s.queue(t)
	worker := c.start("work", "--exec", execFlag(t, "k", "echo"))
	eventually(t, "the worker is listed", func() bool { return len(get[[]inspect.WorkerInfo](c, "workers")) == 1 })
	c.ok("down")
	worker.wantExit(exitFailure)
	if text := worker.errs.String(); !strings.Contains(text, "older") || !strings.Contains(text, "sqluice up") {
		t.Errorf("standard error is %q", text)
	}
}
