// Package pgx is the recipe for pgx and its pool, on PostgreSQL.
//
// Give the pgx.Tx to postgres.Tx. postgres.New lets the queue use the application's own pool.
package pgx

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/sqluice/sqluice/examples/recipes/shop"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/postgres"
)

// Shop places and ships orders.
type Shop struct {
	Pool   *pgxpool.Pool
	Client *jobs.Client
	store  *postgres.Store
}

// Open has the queue use the application's pool.
func Open(ctx context.Context, pool *pgxpool.Pool) (*Shop, error) {
	store, err := postgres.New(pool)
	if err != nil {
		return nil, err
	}
	s := &Shop{Pool: pool, Client: jobs.New(store), store: store}
	if _, err := s.Client.Migrate(ctx); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return s, nil
}

// Close closes the queue's own connections. The pool stays open.
func (s *Shop) Close() error { return s.store.Close() }

// Place inserts orders and enqueues their jobs in one transaction: all of them, or none.
func (s *Shop) Place(ctx context.Context, items ...string) error {
	return pgx.BeginFunc(ctx, s.Pool, func(tx pgx.Tx) error {
		for _, item := range items {
			if _, err := tx.Exec(ctx, `INSERT INTO orders (item) VALUES ($1)`, item); err != nil {
				return err
			}
			if _, err := shop.Ship.Enqueue(ctx, s.Client.With(postgres.Tx(tx)), shop.Order{Item: item}); err != nil {
				return err
			}
		}
		return nil
	})
}

// Ship is the handler of the jobs. It ends the job in the transaction of its work.
func (s *Shop) Ship(ctx context.Context, job jobs.Job, order shop.Order) error {
	return pgx.BeginFunc(ctx, s.Pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `UPDATE orders SET shipments = shipments + 1 WHERE item = $1`, order.Item); err != nil {
			return err
		}
		return jobs.CompleteTx(ctx, postgres.Tx(tx), job, "shipped")
	})
}
