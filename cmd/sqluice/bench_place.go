package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sqluice/sqluice/internal/sqlfiles"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// benchPlace is the bench's own queue beside the user's: in the same folder, or on the same server.
type benchPlace struct {
	database database
	store    jobs.Store
	drop     func(context.Context) error
}

// dropTimeout bounds the removal after the bench is stopped.
const dropTimeout = 30 * time.Second

// remove closes the queue and removes it, also after the end of ctx.
func (p *benchPlace) remove(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropTimeout)
	defer cancel()
	return errors.Join(closeStore(p.store), p.drop(ctx))
}

func makeBenchPlace(ctx context.Context, d database, log *slog.Logger, opts []sqlite.Option) (*benchPlace, error) {
	openPlace := benchFolder
	if d.postgres() {
		openPlace = benchSchema
	}
	place, err := openPlace(ctx, d, log, opts)
	if err != nil {
		return nil, err
	}
	if _, err := jobs.New(place.store).Migrate(ctx); err != nil {
		return nil, errors.Join(benchFault(err), place.remove(ctx))
	}
	return place, nil
}

// benchFolder makes a folder beside a file, which need not exist.
func benchFolder(ctx context.Context, d database, log *slog.Logger, opts []sqlite.Option) (*benchPlace, error) {
	beside := d.path
	if real, err := filepath.EvalSymlinks(beside); err == nil {
		beside = real // a link may lead to another disk
	}
	dir, err := os.MkdirTemp(filepath.Dir(beside), "sqluice-bench-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the bench's own database: %w", err)
	}
	place := &benchPlace{
		database: database{path: filepath.Join(dir, "jobs.db")},
		drop:     func(context.Context) error { return os.RemoveAll(dir) },
	}
	if place.store, err = sqlite.Open(ctx, place.database.path, append(opts, sqlite.WithLogger(log))...); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return place, nil
}

// benchSchema returns the name of a schema, which the migration makes.
func benchSchema(ctx context.Context, d database, log *slog.Logger, _ []sqlite.Option) (*benchPlace, error) {
	given, err := openDatabase(ctx, d, log) // with the URL's schema, to validate its name
	if err != nil {
		return nil, err
	}
	if err := given.Close(); err != nil {
		return nil, err
	}
	name := "sqluice_bench_" + strings.ToLower(rand.Text())
	place := &benchPlace{
		database: database{url: withParameter(withoutParameters(d.url, "schema"), "schema="+name)},
		drop:     func(ctx context.Context) error { return dropSchema(ctx, d.url, name) },
	}
	place.store, err = openDatabase(ctx, place.database, log)
	return place, err
}

// benchFault adds what to do about a role that may not make a schema.
func benchFault(err error) error {
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == "42501" { // insufficient_privilege
		return fmt.Errorf("bench makes its own schema, because it must not touch your jobs, and this role may not do that: "+
			"name another role in the URL, or GRANT CREATE ON DATABASE to this one: %w", refused)
	}
	return err
}

// dropSchema uses its own connection: those of the queue are closed, and may be lost.
func dropSchema(ctx context.Context, url, name string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("drop the schema %s: %w", name, err)
		}
	}()
	config, err := pgx.ParseConfig(withoutParameters(url, "schema", "pgbouncer", "session", "notify", "poll"))
	if err != nil {
		return errors.New("the URL is not well formed") // not reached: the queue was opened with this URL
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	statement := strings.ReplaceAll(sqlfiles.Control("postgres")("drop_schema"), "@name", pgx.Identifier{name}.Sanitize())
	_, err = conn.PgConn().Exec(ctx, statement).ReadAll()
	return errors.Join(err, conn.Close(ctx))
}

// withoutParameters returns a URL without some of its parameters, and otherwise unchanged.
func withoutParameters(url string, names ...string) string {
	base, query, _ := strings.Cut(url, "?")
	for pair := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(pair, "=")
		if pair != "" && !slices.Contains(names, name) {
			base = withParameter(base, pair)
		}
	}
	return base
}

// withParameter returns a URL with a parameter, given as name=value, after the others.
func withParameter(url, pair string) string {
	if strings.Contains(url, "?") {
		return url + "&" + pair
	}
	return url + "?" + pair
}
