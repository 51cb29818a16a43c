package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// shop is the service: its own tables and pool, and the queue in the same file.
type shop struct {
	db      *sql.DB
	store   *sqlite.Store
	client  *jobs.Client
	carrier carrier
	log     *slog.Logger
}

func openShop(ctx context.Context, path string, carrier carrier, log *slog.Logger) (*shop, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", dsn(path))
	if err != nil {
		return nil, err
	}
	if err := createOrders(ctx, db); err != nil {
		return nil, errors.Join(fmt.Errorf("database %s: %w", path, err), db.Close())
	}
	store, err := sqlite.New(ctx, db, sqlite.WithLogger(log))
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	s := &shop{db: db, store: store, client: jobs.New(store), carrier: carrier, log: log}
	if _, err := s.client.Migrate(ctx); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// dsn begins every transaction with the write lock. One that reads first and writes later would fail when another
// connection wrote between.
func dsn(path string) string {
	name := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: url.Values{
		"_txlock": {"immediate"},
		"_pragma": {"busy_timeout(5000)", "journal_mode(wal)", "synchronous(normal)"},
	}.Encode()}
	return name.String()
}

func (s *shop) close() error { return errors.Join(s.store.Close(), s.db.Close()) }

// run serves until ctx ends or a part fails. A worker that ends because a newer program has migrated the schema does not end the service:
// requests are answered until this program is replaced. Then it stops in this order: no new requests, those under way are
// answered; no new jobs, those that run finish. Each of the two gets at most grace.
func (s *shop) run(ctx context.Context, listener net.Listener, grace time.Duration) error {
	runner, err := jobs.NewRunner(s.client, jobs.Config{Grace: grace, Logger: s.log})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	shipOrder.Handle(runner, s.ship)
	server := &http.Server{
		Handler: s.handler(), ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
		ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second, MaxHeaderBytes: 1 << 16,
	}

	working, stopWorking := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWorking()
	worked, served := make(chan error, 1), make(chan error, 1)
	go func() { worked <- runner.Run(working) }()
	go func() { served <- server.Serve(listener) }()
	s.log.Info("listening", "address", "http://"+listener.Addr().String())

	select {
	case <-ctx.Done():
		s.log.Info("stopping", "reason", context.Cause(ctx))
	case err := <-worked:
		worked <- err
		s.outlive(ctx, err, served)
	case err := <-served:
		served <- err
	}
	deadline, cancel := context.WithTimeout(context.WithoutCancel(ctx), max(grace, time.Second))
	defer cancel()
	shutdown := server.Shutdown(deadline)
	stopWorking()
	if err = <-served; errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return errors.Join(err, shutdown, <-worked)
}

// outlive waits for the end of ctx, or of the server, after a worker that ended because of another schema.
func (s *shop) outlive(ctx context.Context, worked error, served chan error) {
	var schema *jobs.SchemaError
	if !errors.As(worked, &schema) {
		return
	}
	s.log.Error("the worker has ended, requests are still answered: replace this program", "error", worked)
	select {
	case <-ctx.Done():
	case err := <-served:
		served <- err
	}
}
