// Package try does with another driver of SQLite the forbidden calls, and prints the queue's errors.
package try

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sqluice/sqluice/examples/recipes/shop"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// New gives a pool of the driver to sqlite.New.
func New(driver string) {
	check(inFolder(func(ctx context.Context, path string) error {
		pool, err := sql.Open(driver, "file:"+path)
		if err != nil {
			return err
		}
		_, err = sqlite.New(ctx, pool)
		fmt.Println("New:", err)
		return pool.Close()
	}))
}

// Tx opens a queue, and gives a transaction of the driver on its file to sqlite.Tx.
func Tx(driver string) {
	check(inFolder(func(ctx context.Context, path string) error {
		store, err := sqlite.Open(ctx, path, sqlite.MigrateEmpty())
		if err != nil {
			return err
		}
		pool, err := sql.Open(driver, "file:"+path)
		if err != nil {
			return errors.Join(err, store.Close())
		}
		tx, err := pool.BeginTx(ctx, nil)
		if err == nil {
			_, enqueued := shop.Ship.Enqueue(ctx, jobs.New(store).With(sqlite.Tx(tx)), shop.Order{Item: "gears"})
			fmt.Println("Tx:", enqueued)
			err = tx.Rollback()
		}
		return errors.Join(err, pool.Close(), store.Close())
	}))
}

func inFolder(fn func(ctx context.Context, path string) error) error {
	folder, err := os.MkdirTemp("", "foreign-")
	if err != nil {
		return err
	}
	return errors.Join(fn(context.Background(), filepath.Join(folder, "app.db")), os.RemoveAll(folder))
}

func check(err error) {
	if err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
}
