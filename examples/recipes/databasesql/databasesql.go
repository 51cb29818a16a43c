// Package databasesql is the recipe for database/sql.
//
// The transaction is the *sql.Tx itself: give it to sqlite.Tx, or on PostgreSQL to postgres.SQLTx, where the driver is that of
// github.com/jackc/pgx/v5/stdlib.
package databasesql

import (
	"context"

	"github.com/sqluice/sqluice/examples/recipes/shop"
	"github.com/sqluice/sqluice/jobs"
)

// Shop places and ships orders.
type Shop struct{ *shop.Database }

// Place inserts orders and enqueues their jobs in one transaction: all of them, or none.
func (s Shop) Place(ctx context.Context, items ...string) error {
	tx, err := s.DB.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after the commit
	for _, item := range items {
		if _, err := tx.ExecContext(ctx, `INSERT INTO orders (item) VALUES ($1)`, item); err != nil {
			return err
		}
		if _, err := shop.Ship.Enqueue(ctx, s.Client.With(s.Join(tx)), shop.Order{Item: item}); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// Ship is the handler of the jobs. It ends the job in the transaction of its work, so that the work takes effect once.
func (s Shop) Ship(ctx context.Context, job jobs.Job, order shop.Order) error {
	tx, err := s.DB.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after the commit
	if _, err := tx.ExecContext(ctx, `UPDATE orders SET shipments = shipments + 1 WHERE item = $1`, order.Item); err != nil {
		return err
	}
	if err := jobs.CompleteTx(ctx, s.Join(tx), job, "shipped"); err != nil {
		return err
	}
	return tx.Commit()
}
