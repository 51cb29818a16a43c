package migration

import (
	"context"
	stdsql "database/sql"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/pressly/goose/v3"

	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/sql"
)

// VersionTable is goose's table for the queue; its own name keeps it apart from an application's migrations.
const VersionTable = "sqluice_migrations"

// EarlierVersionTable is the name that goose's table had in earlier builds of sqluice.
const EarlierVersionTable = "sqluice_goose_version"

// Of returns the migrations of an engine, sqlite or postgres.
func Of(engine string) (Set, error) {
	files, err := fs.Sub(sql.Migrations, "migrations/"+engine)
	if err != nil {
		return Set{}, err
	}
	return Read(files)
}

// Provider returns goose for the migrations and a database.
func (s Set) Provider(dialect goose.Dialect, pool *stdsql.DB) (*goose.Provider, error) {
	return goose.NewProvider(dialect, pool, s.files,
		goose.WithTableName(VersionTable), goose.WithDisableGlobalRegistry(true),
		goose.WithAllowOutofOrder(true)) // an application's versions are above all later ones of the project
}

// RunUp runs the missing migrations and returns the names of the ones that it ran.
func RunUp(ctx context.Context, p *goose.Provider) (names []string, err error) {
	results, err := p.Up(ctx)
	for _, r := range results {
		names = append(names, filepath.Base(r.Source.Path))
	}
	return names, err
}

// RunDown undoes the last migration and returns its name; "" if there is none. read returns the state of the migrations.
func RunDown(ctx context.Context, p *goose.Provider, read func(context.Context) (engine.Schema, error)) (string, error) {
	result, err := p.Down(ctx)
	if errors.Is(err, goose.ErrNoNextVersion) {
		return "", nil
	}
	if errors.Is(err, goose.ErrVersionNotFound) { // the database has an application's migration that this program lacks
		var found engine.Schema
		if found, err = read(ctx); err != nil || found.Applied == 0 {
			return "", err
		}
		result, err = p.ApplyVersion(ctx, found.Applied, false)
	}
	if result == nil {
		return "", err
	}
	return filepath.Base(result.Source.Path), err
}
