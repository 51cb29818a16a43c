package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/postgres"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

const (
	onSQLite     = "SQLite"
	onPostgreSQL = "PostgreSQL"
)

// engine makes a new database, of the durability that is asked for, for each run.
type engine interface {
	create(ctx context.Context, durability string) (database, error)
	stop() error
}

// database is one of an engine, made for a run.
type database struct {
	path      string               // of the file, or the URL or address
	serverCPU func() time.Duration // what the server's processes have used so far; nil when that is not known
	drop      func() error
}

type engines map[string]engine

// startEngines starts what the workloads need. PostgreSQL is missing, and that is said, where there is none.
func startEngines(ctx context.Context, chosen []workload) (engines, error) {
	list := engines{onSQLite: files{}}
	for _, w := range chosen {
		if w.engine != onPostgreSQL {
			continue
		}
		s, err := startServer(ctx)
		if errors.Is(err, errNoServer) {
			fmt.Printf("# NOT MEASURED on PostgreSQL: %v; install it or set %s to a server's URL\n", err, serverVariable)
			break
		}
		if err != nil {
			return nil, err
		}
		list[onPostgreSQL] = s
		break
	}
	return list, nil
}

func (list engines) stop() error {
	var errs []error
	for _, e := range list {
		errs = append(errs, e.stop())
	}
	return errors.Join(errs...)
}

// files are SQLite's databases, each in a temporary folder.
type files struct{}

func (files) create(context.Context, string) (database, error) {
	dir, err := os.MkdirTemp("", "sqluice-bench-")
	if err != nil {
		return database{}, err
	}
	return database{path: filepath.Join(dir, "jobs.db"), drop: func() error { return os.RemoveAll(dir) }}, nil
}

func (files) stop() error { return nil }

// create makes a database of the server.
func (s *server) create(ctx context.Context, durability string) (database, error) {
	name := "bench_" + strings.ToLower(rand.Text())
	if err := s.administer(ctx, "CREATE DATABASE "+name+" TEMPLATE template0"); err != nil {
		return database{}, err
	}
	path, err := s.urlOf(name)
	return database{path: path, serverCPU: s.cpu, drop: func() error {
		return s.administer(context.WithoutCancel(ctx), "DROP DATABASE "+name+" WITH (FORCE)")
	}}, err
}

func (s *server) administer(ctx context.Context, statement string) error {
	conn, err := pgx.Connect(ctx, s.url)
	if err != nil {
		return fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	_, err = conn.Exec(ctx, statement)
	return errors.Join(err, conn.Close(ctx))
}

// openStore opens the store of a database.
func openStore(ctx context.Context, path string) (jobs.Store, error) {
	if strings.HasPrefix(path, "postgres://") || strings.HasPrefix(path, "postgresql://") {
		return postgres.Open(ctx, path)
	}
	return sqlite.Open(ctx, path)
}

// open opens the store of a database and migrates it.
func open(ctx context.Context, d database) (jobs.Store, *jobs.Client, error) {
	store, err := openStore(ctx, d.path)
	if err != nil {
		return nil, nil, err
	}
	client := jobs.New(store)
	if _, err := client.Migrate(ctx); err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	return store, client, nil
}

func (d database) used() time.Duration {
	if d.serverCPU == nil {
		return 0
	}
	return d.serverCPU()
}

// clock measures the part of a run that counts.
type clock struct {
	database   database
	begin      time.Time
	cpu        time.Duration // of this process
	serversCPU time.Duration
}

func (d database) start() clock {
	return clock{database: d, begin: time.Now(), cpu: cpuTime(), serversCPU: d.used()}
}

func (c clock) stop(n int) figures {
	return figures{n: n, elapsed: time.Since(c.begin), cpu: cpuTime() - c.cpu, serversCPU: c.database.used() - c.serversCPU}
}
