// Package bun is the recipe for Bun.
//
// Bun takes the application's *sql.DB, and a bun.Tx has the *sql.Tx as its field Tx. Bun's package sqliteshim is not needed.
package bun

import (
	"context"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/dialect/sqlitedialect"

	"github.com/sqluice/sqluice/examples/recipes/shop"
	"github.com/sqluice/sqluice/jobs"
)

// Order is a row of the application's table.
type Order struct {
	Item      string `bun:",pk"`
	Shipments int64
}

// Shop places and ships orders.
type Shop struct {
	*shop.Database
	bun *bun.DB
}

// Open gives Bun the application's pool.
func Open(d *shop.Database) *Shop {
	if d.IsPostgres {
		return &Shop{d, bun.NewDB(d.DB, pgdialect.New())}
	}
	return &Shop{d, bun.NewDB(d.DB, sqlitedialect.New())}
}

// Place inserts orders and enqueues their jobs in one transaction: all of them, or none.
func (s *Shop) Place(ctx context.Context, items ...string) error {
	return s.bun.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		for _, item := range items {
			if _, err := tx.NewInsert().Model(&Order{Item: item}).Exec(ctx); err != nil {
				return err
			}
			if _, err := shop.Ship.Enqueue(ctx, s.Client.With(s.Join(tx.Tx)), shop.Order{Item: item}); err != nil {
				return err
			}
		}
		return nil
	})
}

// Ship is the handler of the jobs. It ends the job in the transaction of its work.
func (s *Shop) Ship(ctx context.Context, job jobs.Job, order shop.Order) error {
	return s.bun.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		_, err := tx.NewUpdate().Model(&Order{Item: order.Item}).Set("shipments = shipments + 1").WherePK().Exec(ctx)
		if err != nil {
			return err
		}
		return jobs.CompleteTx(ctx, s.Join(tx.Tx), job, "shipped")
	})
}
