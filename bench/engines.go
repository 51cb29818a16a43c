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
)

const (
	onSQLite     = "SQLite"
	onPostgreSQL = "PostgreSQL"
)

// engine makes a new database with the requested durability for each run.
type engine interface {
	create(ctx context.Context, durability string) (database, error)
	stop() error
}

// database is the database of one run.
type database struct {
	path      string               // of the file, or the URL or address
	serverCPU func() time.Duration // processor time of the server's processes so far; nil when unknown
	drop      func() error
}

type engines map[string]engine

// engineStarters returns the starters of all engines, by name.
func engineStarters() map[string]func(context.Context) (engine, error) {
	starters := peerEngines()
	starters[onSQLite] = func(context.Context) (engine, error) { return files{}, nil }
	starters[onPostgreSQL] = func(ctx context.Context) (engine, error) {
		s, err := startServer(ctx)
		if err != nil {
			return nil, err // s is no engine then
		}
		return s, nil
	}
	return starters
}

// startEngines starts the required engines. Where one is not installed it prints that the engine is missing.
func startEngines(ctx context.Context, chosen []comparison) (engines, error) {
	starters := engineStarters()
	list := engines{}
	for _, c := range chosen {
		if _, ok := list[c.engine]; ok {
			continue
		}
		e, err := starters[c.engine](ctx)
		if errors.Is(err, errNoServer) {
			fmt.Printf("# NOT MEASURED on %s: %v\n", c.engine, err)
			list[c.engine] = nil
			continue
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("start %s: %w", c.engine, err), list.stop())
		}
		list[c.engine] = e
	}
	return list, nil
}

func (list engines) stop() error {
	var errs []error
	for _, e := range list {
		if e != nil {
			errs = append(errs, e.stop())
		}
	}
	return errors.Join(errs...)
}

// folder makes a temporary folder on a disk, because durability is measured and a system's /tmp may be in memory. Its
// name is short because the path of PostgreSQL's socket in it may have at most about 100 bytes.
func folder() (string, error) {
	parent := os.Getenv("TMPDIR")
	if parent == "" {
		parent = "/var/tmp"
	}
	return os.MkdirTemp(parent, "sqluice-bench-")
}

// files creates SQLite's databases, each in a temporary folder.
type files struct{}

func (files) create(context.Context, string) (database, error) {
	dir, err := folder()
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

// finishBackgroundWork makes a PostgreSQL server do now the work that it otherwise does later, after many writes. SQLite has no
// such work.
func (d database) finishBackgroundWork(ctx context.Context) error {
	if !isPostgres(d.path) {
		return nil
	}
	conn, err := pgx.Connect(ctx, d.path)
	if err != nil {
		return fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	_, vacuumErr := conn.Exec(ctx, "VACUUM")
	_, err = conn.Exec(ctx, "CHECKPOINT")
	return errors.Join(vacuumErr, err, conn.Close(ctx))
}

func (d database) used() time.Duration {
	if d.serverCPU == nil {
		return 0
	}
	return d.serverCPU()
}
