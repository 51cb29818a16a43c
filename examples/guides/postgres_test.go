package guides_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/postgres"
)

// Image is the payload of a job that resizes an image.
type Image struct{ File string }

var Resize = jobs.Kind[Image]{Name: "resize"}

// docs/postgres.md and docs/transactions.md
func TestPostgresPrograms(t *testing.T) {
	ctx := t.Context()
	url := testdb.StartPostgres(t).Database(t)
	pool, err := pgxpool.New(ctx, url)
	check(err)
	defer pool.Close()
	opened := func() *jobs.Client {
		store, err := postgres.Open(ctx, url) // a pool of its own
		check(err)
		t.Cleanup(func() { check(store.Close()) })
		return jobs.New(store)
	}()
	_, err = opened.Migrate(ctx)
	check(err)
	store, err := postgres.New(pool) // or the application's *pgxpool.Pool
	check(err)
	defer store.Close()
	client := jobs.New(store)

	args := Image{File: "a.png"}
	func() {
		tx, err := pool.Begin(ctx) // pgx
		check(err)
		receipt, err := Resize.Enqueue(ctx, client.With(postgres.Tx(tx)), args)
		check(err)
		check(tx.Commit(ctx))
		added(t, client, receipt)
	}()

	db, err := sql.Open("pgx", url)
	check(err)
	defer db.Close()
	tx, err := db.BeginTx(ctx, nil) // database/sql over pgx
	check(err)
	receipt, err := Resize.Enqueue(ctx, client.With(postgres.SQLTx(tx)), args)
	check(err)
	check(tx.Commit())
	added(t, client, receipt)
}

func added(t *testing.T, client *jobs.Client, receipt jobs.Receipt) {
	t.Helper()
	if _, err := client.Get(context.WithoutCancel(t.Context()), receipt.ID); err != nil {
		t.Error(err)
	}
}
