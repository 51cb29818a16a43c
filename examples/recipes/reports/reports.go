// Package reports is the recipe for queries of your own that join your tables with the queue's.
//
// sqlc reads the queue's migrations beside the application's schema: sqlc.yaml lists both. The queries name columns of sqluice_jobs, and
// sqlc fails when one of them is gone after an upgrade. An order and its job are joined by the job's request id, which has an index.
//
// make generate in the repository's root writes the packages sqlite and postgres from queries.sql.
package reports

import (
	"context"
	"database/sql"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/sqluice/sqluice/examples/recipes/reports/postgres"
	"github.com/sqluice/sqluice/examples/recipes/reports/sqlite"
	"github.com/sqluice/sqluice/examples/recipes/shop"
	"github.com/sqluice/sqluice/jobs"
)

// Place inserts an order and enqueues its job in one transaction. The order's item is the job's request id.
func Place(ctx context.Context, d *shop.Database, item string) error {
	tx, err := d.DB.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after the commit
	if _, err := tx.ExecContext(ctx, `INSERT INTO orders (item) VALUES ($1)`, item); err != nil {
		return err
	}
	client := d.Client.With(d.Join(tx))
	if _, err := shop.Ship.Enqueue(ctx, client, shop.Order{Item: item}, jobs.RequestID(item)); err != nil {
		return err
	}
	return tx.Commit()
}

// Order is an order with the state of its job. Failed is an order whose job failed.
type (
	Order  = sqlite.ListOrdersRow
	Failed = sqlite.ListFailedOrdersRow
)

// SQLite runs the queries for SQLite.
type SQLite struct{ DB *sql.DB }

// Orders returns up to n orders behind one.
func (s SQLite) Orders(ctx context.Context, after string, n int64) ([]Order, error) {
	return sqlite.New(s.DB).ListOrders(ctx, sqlite.ListOrdersParams{After: after, N: n})
}

// Failed returns up to n orders whose jobs failed since a time, the latest first.
func (s SQLite) Failed(ctx context.Context, since time.Time, n int64) ([]Failed, error) {
	return sqlite.New(s.DB).ListFailedOrders(ctx, sqlite.ListFailedOrdersParams{Since: since.UnixMicro(), N: n})
}

// Postgres runs the queries for PostgreSQL. sqlc generates the same rows for both engines, which Go converts.
type Postgres struct{ Pool *pgxpool.Pool }

// Orders returns up to n orders behind one.
func (p Postgres) Orders(ctx context.Context, after string, n int64) ([]Order, error) {
	rows, err := postgres.New(p.Pool).ListOrders(ctx, postgres.ListOrdersParams{After: after, N: n})
	list := make([]Order, len(rows))
	for i, row := range rows {
		list[i] = Order(row)
	}
	return list, err
}

// Failed returns up to n orders whose jobs failed since a time, the latest first.
func (p Postgres) Failed(ctx context.Context, since time.Time, n int64) ([]Failed, error) {
	rows, err := postgres.New(p.Pool).ListFailedOrders(ctx, postgres.ListFailedOrdersParams{Since: since.UnixMicro(), N: n})
	list := make([]Failed, len(rows))
	for i, row := range rows {
		list[i] = Failed(row)
	}
	return list, err
}
