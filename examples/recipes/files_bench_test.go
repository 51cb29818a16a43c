package recipes_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqluice/sqluice/examples/recipes/databasesql"
	"github.com/sqluice/sqluice/examples/recipes/shop"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// BenchmarkFiles compares an application whose queue is in its own file with one that has a second file for it: docs/recipes.md has its
// figures. order-and-job adds both, in one transaction or in two. order-beside-jobs adds an order while a runner is busy. wal-beside-a-read
// runs jobs while a transaction of the application reads, and reports the size of the queue's WAL.
func BenchmarkFiles(b *testing.B) {
	for _, count := range []int{1, 2} {
		b.Run(fmt.Sprintf("files=%d/order-and-job", count), func(b *testing.B) { orderAndJob(b, openFiles(b, count)) })
		b.Run(fmt.Sprintf("files=%d/order-beside-jobs", count), func(b *testing.B) { orderBesideJobs(b, openFiles(b, count)) })
		b.Run(fmt.Sprintf("files=%d/wal-beside-a-read", count), func(b *testing.B) { walBesideRead(b, openFiles(b, count)) })
	}
}

// files holds an application's file and the queue's, which may be one.
type files struct {
	app, queue *shop.Database
	path       string // of the queue's
}

func openFiles(b *testing.B, count int) files {
	b.Helper()
	open := func(name string) (*shop.Database, string) {
		path := filepath.Join(b.TempDir(), name)
		d, err := shop.OpenSQLite(b.Context(), path)
		check(b, err)
		b.Cleanup(func() { check(b, d.Close()) })
		return d, path
	}
	app, path := open("app.db")
	f := files{app, app, path}
	if count == 2 {
		f.queue, f.path = open("jobs.db")
	}
	return f
}

func orderAndJob(b *testing.B, f files) {
	s := databasesql.Shop{Database: f.app}
	for i := 0; b.Loop(); i++ {
		item := strconv.Itoa(i)
		if f.app == f.queue {
			check(b, s.Place(b.Context(), item))
			continue
		}
		placeOrder(b, f.app, item)
		_, err := shop.Ship.Enqueue(b.Context(), f.queue.Client, shop.Order{Item: item})
		check(b, err)
	}
}

func placeOrder(b *testing.B, d *shop.Database, item string) {
	_, err := d.DB.ExecContext(b.Context(), `INSERT INTO orders (item) VALUES (?)`, item)
	check(b, err)
}

func orderBesideJobs(b *testing.B, f files) {
	const atOnce = 16
	runner, err := jobs.NewRunner(f.queue.Client, jobs.Config{Queues: map[string]int{"default": atOnce}, Logger: slog.New(slog.DiscardHandler)})
	check(b, err)
	next := func(ctx context.Context) error {
		_, err := shop.Ship.Enqueue(ctx, f.queue.Client, shop.Order{Item: "next"})
		return err
	}
	var ran atomic.Int64
	shop.Ship.Handle(runner, func(ctx context.Context, _ jobs.Job, _ shop.Order) error {
		ran.Add(1)
		return next(ctx)
	})
	for range atOnce {
		check(b, next(b.Context()))
	}
	ctx, stop := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- runner.Run(ctx) }()
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		begin := time.Now()
		placeOrder(b, f.app, strconv.Itoa(i))
		took = append(took, time.Since(begin))
	}
	stop()
	check(b, <-ended)
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-us/op")
	b.ReportMetric(float64(took[len(took)-1].Microseconds()), "max-us/op")
	b.ReportMetric(float64(ran.Load())/b.Elapsed().Seconds(), "jobs/s")
}

func walBesideRead(b *testing.B, f files) {
	var read int
	tx, err := f.app.DB.BeginTx(b.Context(), &sql.TxOptions{ReadOnly: true})
	check(b, err)
	check(b, tx.QueryRowContext(b.Context(), `SELECT count(*) FROM orders`).Scan(&read))
	runner, err := jobs.NewRunner(f.queue.Client, jobs.Config{Logger: slog.New(slog.DiscardHandler)})
	check(b, err)
	shop.Ship.Handle(runner, func(context.Context, jobs.Job, shop.Order) error { return nil })
	for b.Loop() {
		_, err := shop.Ship.Enqueue(b.Context(), f.queue.Client, shop.Order{Item: "gears"})
		check(b, err)
	}
	check(b, runner.Drain(b.Context()))
	store, err := sqlite.Open(b.Context(), f.path)
	check(b, err)
	size, err := store.WALSize()
	check(b, err)
	check(b, store.Close())
	check(b, tx.Rollback())
	b.ReportMetric(float64(size)/float64(b.N), "WAL-B/op")
}

func check(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}
