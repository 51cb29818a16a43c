package recipes_test

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	orm "gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/sqluice/sqluice/examples/recipes/bun"
	"github.com/sqluice/sqluice/examples/recipes/databasesql"
	"github.com/sqluice/sqluice/examples/recipes/ent"
	"github.com/sqluice/sqluice/examples/recipes/gorm"
	"github.com/sqluice/sqluice/examples/recipes/pgx"
	"github.com/sqluice/sqluice/examples/recipes/shop"
	"github.com/sqluice/sqluice/examples/recipes/sqlc"
	"github.com/sqluice/sqluice/examples/recipes/sqlx"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// recipe is a shop by one of the libraries.
type recipe interface {
	Place(ctx context.Context, items ...string) error
	Ship(ctx context.Context, job jobs.Job, order shop.Order) error
}

// database is an open database.
type database struct {
	*shop.Database
	pgx *pgxpool.Pool // nil on SQLite
}

// makers returns functions that make a shop from a database.
func makers(t *testing.T) map[string]func(database) recipe {
	return map[string]func(database) recipe{
		"database/sql":                  func(d database) recipe { return databasesql.Shop{Database: d.Database} },
		"GORM":                          func(d database) recipe { return openGORM(t, d, &orm.Config{}) },
		"GORM with prepared statements": func(d database) recipe { return openGORM(t, d, &orm.Config{PrepareStmt: true}) },
		"ent":                           func(d database) recipe { return ent.Open(d.Database) },
		"Bun":                           func(d database) recipe { return bun.Open(d.Database) },
		"sqlx":                          func(d database) recipe { return sqlx.Open(d.Database) },
		"sqlc": func(d database) recipe {
			if d.IsPostgres {
				return sqlc.Postgres{Pool: d.pgx, Client: d.Client}
			}
			return sqlc.SQLite{Database: d.Database}
		},
	}
}

func openGORM(t *testing.T, d database, config *orm.Config) recipe {
	t.Helper()
	config.Logger = logger.Discard // of the order that is refused
	s, err := gorm.Open(d.Database, config)
	must(t, err)
	return s
}

func TestRecipesOnSQLite(t *testing.T) {
	for name, shopOf := range makers(t) {
		t.Run(name, func(t *testing.T) {
			d := openSQLite(t)
			checkRecipe(t, d, shopOf(d))
		})
	}
}

func TestRecipesOnPostgres(t *testing.T) {
	server := testdb.StartPostgres(t)
	for name, shopOf := range makers(t) {
		t.Run(name, func(t *testing.T) {
			d := openPostgres(t, server.Database(t))
			checkRecipe(t, d, shopOf(d))
		})
	}
	t.Run("pgx", func(t *testing.T) {
		d := openPostgres(t, server.Database(t))
		s, err := pgx.Open(t.Context(), d.pgx)
		must(t, err)
		defer func() { must(t, s.Close()) }()
		checkRecipe(t, d, s)
	})
}

// Through each library the queue sees that a transaction is on another file.
func TestRecipesRefuseATransactionOnAnotherFile(t *testing.T) {
	for name, shopOf := range makers(t) {
		t.Run(name, func(t *testing.T) {
			d, other := openSQLite(t), openSQLite(t)
			mixed := *other.Database
			mixed.Client = d.Client
			if err := shopOf(database{Database: &mixed}).Place(t.Context(), "gears"); err == nil || !strings.Contains(err.Error(), "begin it there") {
				t.Errorf("placed: %v", err)
			}
			for _, d := range []database{d, other} {
				wantOrders(t, d, map[string]int{})
				wantJobs(t, d, 0)
			}
		})
	}
}

// checkRecipe has a shop place and ship orders, in a database that it reads with database/sql.
func checkRecipe(t *testing.T, d database, s recipe) {
	t.Helper()
	must(t, s.Place(t.Context(), "gears", "springs"))
	wantOrders(t, d, map[string]int{"gears": 0, "springs": 0})
	wantJobs(t, d, 2)

	if err := s.Place(t.Context(), "levers", "gears"); err == nil { // the second exists already
		t.Error("an order is placed twice")
	}
	wantOrders(t, d, map[string]int{"gears": 0, "springs": 0})
	wantJobs(t, d, 2)

	runner, err := jobs.NewRunner(d.Client, jobs.Config{Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	shop.Ship.Handle(runner, func(ctx context.Context, job jobs.Job, order shop.Order) error {
		must(t, s.Ship(ctx, job, order))
		// The job has ended, so the same work again is not committed.
		if err := s.Ship(ctx, job, order); !errors.Is(err, jobs.ErrLeaseLost) {
			t.Errorf("shipped twice: %v", err)
		}
		return nil
	})
	must(t, runner.Drain(t.Context()))
	wantOrders(t, d, map[string]int{"gears": 1, "springs": 1})
	for _, job := range wantJobs(t, d, 2) {
		if job.Status != jobs.StatusDone || string(job.Result) != `"shipped"` || job.Attempt != 1 {
			t.Errorf("job %d is %s at attempt %d with the result %s", job.ID, job.Status, job.Attempt, job.Result)
		}
	}
}

// wantOrders compares the orders with their numbers of shipments.
func wantOrders(t *testing.T, d database, want map[string]int) {
	t.Helper()
	rows, err := d.DB.QueryContext(t.Context(), `SELECT item, shipments FROM orders`)
	must(t, err)
	defer rows.Close()
	have := map[string]int{}
	for rows.Next() {
		var item string
		var shipments int
		must(t, rows.Scan(&item, &shipments))
		have[item] = shipments
	}
	must(t, rows.Err())
	if !maps.Equal(have, want) {
		t.Errorf("the orders are %v, not %v", have, want)
	}
}

func wantJobs(t *testing.T, d database, want int) []jobs.Job {
	t.Helper()
	list, err := inspect.New(d.Client).List(t.Context(), inspect.Filter{})
	must(t, err)
	if len(list) != want {
		t.Errorf("there are %d jobs, not %d", len(list), want)
	}
	return list
}

func openSQLite(t *testing.T) database {
	t.Helper()
	d, err := shop.OpenSQLite(t.Context(), filepath.Join(t.TempDir(), "app.db"))
	must(t, err)
	t.Cleanup(func() { must(t, d.Close()) })
	return database{Database: d}
}

func openPostgres(t *testing.T, url string) database {
	t.Helper()
	d, err := shop.OpenPostgres(t.Context(), url)
	must(t, err)
	t.Cleanup(func() { must(t, d.Close()) })
	pool, err := pgxpool.New(t.Context(), url)
	must(t, err)
	t.Cleanup(pool.Close)
	return database{d, pool}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
