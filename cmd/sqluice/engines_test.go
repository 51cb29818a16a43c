package main

import (
	"maps"
	"slices"
	"testing"

	"github.com/sqluice/sqluice/internal/test/testdb"
)

// tests holds, by name, tests that a queue of either engine must pass. Each gets a queue without jobs.
type tests map[string]func(*testing.T, *cli)

func bothEngines() tests {
	all := tests{}
	for _, list := range []tests{
		commandTests(), enqueueTests(), workTests(), stopTests(), benchTests(), benchStopTests(), serveTests(), topTests(), auditTests(), secretTests(), completionTests(), probeTests(),
	} {
		maps.Copy(all, list)
	}
	return all
}

func (tests tests) run(t *testing.T, fresh func(*testing.T) *cli) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		t.Run(name, func(t *testing.T) { tests[name](t, fresh(t)) })
	}
}

func TestOnSQLite(t *testing.T) {
	t.Run("UpDownAndStatus", func(t *testing.T) { upDownAndStatus(t, newCLI(t)) })
	bothEngines().run(t, newCLI)
}

// TestOnPostgres runs all tests that need no more than databases, in one cluster.
func TestOnPostgres(t *testing.T) {
	server := newServer(t)
	t.Run("UpDownAndStatus", func(t *testing.T) { upDownAndStatus(t, server.empty(t)) })
	if testing.Short() {
		return // the commands are the same, and take minutes
	}
	bothEngines().run(t, server.queue)
	for _, test := range slices.Sorted(maps.Keys(postgresTests())) {
		t.Run(test, func(t *testing.T) { postgresTests()[test](t, server) })
	}
}

// server is a PostgreSQL server, and the name of a migrated database on it.
type server struct {
	*testdb.Postgres
	template string
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{Postgres: testdb.StartPostgres(t)}
	s.template = s.Template(t, func(url string) { (&cli{t, url}).ok("up") })
	return s
}

// queue makes a migrated database.
func (s *server) queue(t *testing.T) *cli {
	t.Helper()
	return &cli{t, s.Copy(t, s.template)}
}

// empty makes a database without the queue's tables.
func (s *server) empty(t *testing.T) *cli {
	t.Helper()
	return &cli{t, s.Database(t)}
}
