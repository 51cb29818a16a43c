// Package shop has the parts of all recipes: an application keeps orders in a separate table, and a job ships each of them.
//
// It opens the application's database as *sql.DB, which database/sql, GORM, ent, Bun, sqlx and sqlc take as it is.
package shop

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"net/url"
	"path/filepath"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver called pgx
	_ "modernc.org/sqlite"             // the driver called sqlite; no other package of the program may register this name

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/postgres"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// Order is the payload of a job that ships an order.
type Order struct {
	Item string `json:"item"`
}

// Ship is the kind of the jobs that ship orders.
var Ship = jobs.Kind[Order]{Name: "ship-order"}

// Schema makes the application's table, on both engines. A program has migrations of its own.
//
//go:embed schema.sql
var Schema string

// Database is the application's database, with the queue in it.
type Database struct {
	DB         *sql.DB
	Client     *jobs.Client
	Join       func(*sql.Tx) jobs.Tx // has the client work in a transaction of DB
	IsPostgres bool

	closeStore func() error
}

// OpenSQLite opens a new file for the application's table and the queue.
func OpenSQLite(ctx context.Context, path string) (*Database, error) {
	pool, err := sql.Open("sqlite", DSN(path))
	if err != nil {
		return nil, err
	}
	store, err := sqlite.New(ctx, pool)
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	return prepared(ctx, &Database{DB: pool, Client: jobs.New(store), Join: sqlite.Tx, closeStore: store.Close})
}

// DSN has every transaction begin with the write lock, and wait for it. A transaction that reads first and writes later would fail when
// another connection wrote between.
func DSN(path string) string {
	name := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: url.Values{
		"_txlock": {"immediate"},
		"_pragma": {"busy_timeout(5000)", "journal_mode(wal)", "synchronous(normal)"},
	}.Encode()}
	return name.String()
}

// OpenPostgres opens a new database for the application's table and the queue. The application has database/sql over pgx, and the queue a
// pool of pgx.
func OpenPostgres(ctx context.Context, url string) (*Database, error) {
	store, err := postgres.Open(ctx, url)
	if err != nil {
		return nil, err
	}
	pool, err := sql.Open("pgx", url)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return prepared(ctx, &Database{DB: pool, Client: jobs.New(store), Join: postgres.SQLTx, IsPostgres: true, closeStore: store.Close})
}

// prepared makes the tables of the application and of the queue.
func prepared(ctx context.Context, d *Database) (*Database, error) {
	_, err := d.DB.ExecContext(ctx, Schema)
	if err == nil {
		_, err = d.Client.Migrate(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// Close closes the queue's connections and the application's.
func (d *Database) Close() error { return errors.Join(d.closeStore(), d.DB.Close()) }
