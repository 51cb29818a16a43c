// Package sqlc is the recipe for queries that sqlc generates.
//
// The generated WithTx takes the application's transaction, and so does the queue: a *sql.Tx on SQLite, a pgx.Tx on PostgreSQL with
// sql_package: pgx/v5. The queue's tables need not be in the schema that sqlc reads.
//
// make generate in the repository's root writes the packages sqlite and postgres from queries.sql.
package sqlc

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/sqluice/sqluice/examples/recipes/shop"
	"github.com/sqluice/sqluice/examples/recipes/sqlc/postgres"
	"github.com/sqluice/sqluice/examples/recipes/sqlc/sqlite"
	"github.com/sqluice/sqluice/jobs"
	queuepostgres "github.com/sqluice/sqluice/jobs/postgres"
	queuesqlite "github.com/sqluice/sqluice/jobs/sqlite"
)

// SQLite places and ships orders with the queries for SQLite.
type SQLite struct{ *shop.Database }

// Place inserts orders and enqueues their jobs in one transaction: all of them, or none.
func (s SQLite) Place(ctx context.Context, items ...string) error {
	tx, err := s.DB.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after the commit
	queries, client := sqlite.New(s.DB).WithTx(tx), s.Client.With(queuesqlite.Tx(tx))
	for _, item := range items {
		if err := queries.InsertOrder(ctx, item); err != nil {
			return err
		}
		if _, err := shop.Ship.Enqueue(ctx, client, shop.Order{Item: item}); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// Ship is the handler of the jobs. It ends the job in the transaction of its work.
func (s SQLite) Ship(ctx context.Context, job jobs.Job, order shop.Order) error {
	tx, err := s.DB.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after the commit
	if err := sqlite.New(s.DB).WithTx(tx).CountShipment(ctx, order.Item); err != nil {
		return err
	}
	if err := jobs.CompleteTx(ctx, queuesqlite.Tx(tx), job, "shipped"); err != nil {
		return err
	}
	return tx.Commit()
}

// Postgres places and ships orders with the queries for PostgreSQL.
type Postgres struct {
	Pool   *pgxpool.Pool
	Client *jobs.Client
}

// Place inserts orders and enqueues their jobs in one transaction: all of them, or none.
func (s Postgres) Place(ctx context.Context, items ...string) error {
	return pgx.BeginFunc(ctx, s.Pool, func(tx pgx.Tx) error {
		queries, client := postgres.New(s.Pool).WithTx(tx), s.Client.With(queuepostgres.Tx(tx))
		for _, item := range items {
			if err := queries.InsertOrder(ctx, item); err != nil {
				return err
			}
			if _, err := shop.Ship.Enqueue(ctx, client, shop.Order{Item: item}); err != nil {
				return err
			}
		}
		return nil
	})
}

// Ship is the handler of the jobs. It ends the job in the transaction of its work.
func (s Postgres) Ship(ctx context.Context, job jobs.Job, order shop.Order) error {
	return pgx.BeginFunc(ctx, s.Pool, func(tx pgx.Tx) error {
		if err := postgres.New(s.Pool).WithTx(tx).CountShipment(ctx, order.Item); err != nil {
			return err
		}
		return jobs.CompleteTx(ctx, queuepostgres.Tx(tx), job, "shipped")
	})
}
