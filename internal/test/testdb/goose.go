package testdb

import (
	"database/sql"
	"io/fs"
	"testing"

	"github.com/pressly/goose/v3"

	sqluice "github.com/sqluice/sqluice/sql"
)

// VersionTable is goose's version table for the queue's schema.
const VersionTable = "sqluice_migrations"

// Goose returns goose with the queue's migrations for a dialect, for tests that stop at a version on the way.
func Goose(tb testing.TB, dialect goose.Dialect, pool *sql.DB) *goose.Provider {
	tb.Helper()
	folder := "migrations/postgres"
	if dialect == goose.DialectSQLite3 {
		folder = "migrations/sqlite"
	}
	files, err := fs.Sub(sqluice.Migrations, folder)
	if err != nil {
		tb.Fatal(err)
	}
	provider, err := goose.NewProvider(dialect, pool, files,
		goose.WithTableName(VersionTable), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		tb.Fatal(err)
	}
	return provider
}
