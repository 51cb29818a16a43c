package guides_test

import (
	"context"
	"database/sql"
	"log"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// check stands for a program's own way to deal with errors.
func check(err error) {
	if err != nil {
		log.Panic(err)
	}
}

// openShop opens an application's own pool and the queue in the same file. The function that it returns removes both.
func openShop(ctx context.Context) (*sql.DB, *jobs.Client, func()) {
	folder, err := os.MkdirTemp("", "sqluice-guide-")
	check(err)
	pool, err := sql.Open("sqlite", "file:"+filepath.Join(folder, "shop.db")+"?_txlock=immediate&_pragma=busy_timeout(5000)")
	check(err)
	store, err := sqlite.New(ctx, pool)
	check(err)
	client := jobs.New(store)
	_, err = client.Migrate(ctx)
	check(err)
	return pool, client, func() {
		check(store.Close())
		check(pool.Close())
		check(os.RemoveAll(folder))
	}
}

// newRunner returns a runner that logs nothing.
func newRunner(client *jobs.Client) *jobs.Runner {
	runner, err := jobs.NewRunner(client, jobs.Config{Logger: slog.New(slog.DiscardHandler)})
	check(err)
	return runner
}
