package bench

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sqluice/sqluice/cmd/sqluice/internal/address"
	"github.com/sqluice/sqluice/internal/sqlfiles"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// scratchQueue is the queue of the run: a file in a new folder beside the user's, or a new schema on the same server.
type scratchQueue struct {
	database address.Database
	store    jobs.Store
	drop     func(context.Context) error
}

// dropTimeout bounds the removal, which also runs after the end of the run's context.
const dropTimeout = 30 * time.Second

// remove closes the queue and removes it, also after the end of ctx.
func (p *scratchQueue) remove(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropTimeout)
	defer cancel()
	err := p.store.Close()
	if err != nil {
		err = fmt.Errorf("close the database: %w", err)
	}
	return errors.Join(err, p.drop(ctx))
}

// makeScratchQueue makes a migrated queue beside the user's.
func makeScratchQueue(ctx context.Context, d address.Database, host *Host) (*scratchQueue, error) {
	open := makeFolder
	if d.Postgres() {
		open = makeSchema
	}
	place, err := open(ctx, d, host)
	if err != nil {
		return nil, err
	}
	if _, err := jobs.New(place.store).Migrate(ctx); err != nil {
		return nil, errors.Join(schemaFault(err), place.remove(ctx))
	}
	return place, nil
}

// makeFolder makes a folder beside the user's file, which need not exist, with an empty database in it.
func makeFolder(ctx context.Context, d address.Database, host *Host) (*scratchQueue, error) {
	beside := d.Path
	if real, err := filepath.EvalSymlinks(beside); err == nil {
		beside = real // a link may lead to another disk
	}
	dir, err := os.MkdirTemp(filepath.Dir(beside), "sqluice-bench-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the bench's own database: %w", err)
	}
	place := &scratchQueue{
		database: address.Database{Path: filepath.Join(dir, "jobs.db")},
		drop:     func(context.Context) error { return os.RemoveAll(dir) },
	}
	if place.store, err = sqlite.Open(ctx, place.database.Path, append(host.Options, sqlite.WithLogger(host.Log))...); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return place, nil
}

// makeSchema chooses the name of a new schema. The migration creates it.
func makeSchema(ctx context.Context, d address.Database, host *Host) (*scratchQueue, error) {
	given, err := host.Open(ctx, d, host.Log) // with the schema of the URL: the engine validates its name
	if err != nil {
		return nil, err
	}
	if err := given.Close(); err != nil {
		return nil, err
	}
	name := "sqluice_bench_" + strings.ToLower(rand.Text())
	place := &scratchQueue{
		database: address.Database{URL: withParameter(withoutParameters(d.URL, "schema"), "schema="+name)},
		drop:     func(ctx context.Context) error { return dropSchema(ctx, d.URL, name) },
	}
	place.store, err = host.Open(ctx, place.database, host.Log)
	return place, err
}

// schemaFault adds a remedy to the error of a role that may not create schemas.
func schemaFault(err error) error {
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == "42501" { // insufficient_privilege
		return fmt.Errorf("create a schema for the bench: the role may not create schemas in this database: "+
			"name another role in the URL, or GRANT CREATE ON DATABASE to this one: %w", refused)
	}
	return err
}

// dropSchema drops a schema with everything in it. It opens its own connection, because the queue is closed.
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

// withoutParameters returns a URL without the named parameters. Nothing else of it changes.
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

// withParameter appends a parameter of the form name=value to a URL.
func withParameter(url, pair string) string {
	if strings.Contains(url, "?") {
		return url + "&" + pair
	}
	return url + "?" + pair
}
