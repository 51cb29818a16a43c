// Package ent is the recipe for ent.
//
// A generated client runs on a dialect.Driver, and so does this recipe: it uses ent's own builder of statements, since ent generates
// thousands of lines for a table. A transaction that the driver begins is a *sql.Tx of ent's package dialect/sql, and the
// transaction of database/sql is beneath it. A generated client has no way to that of its ent.Tx. So begin the transaction on the driver, and
// give the client [Driver] of it:
//
//	client := ent.NewClient(ent.Driver(driver))
package ent

import (
	"context"
	"database/sql"
	"fmt"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"

	"github.com/sqluice/sqluice/examples/recipes/shop"
	"github.com/sqluice/sqluice/jobs"
)

// Shop places and ships orders.
type Shop struct {
	*shop.Database
	driver *entsql.Driver
}

// Open gives ent the application's pool.
func Open(d *shop.Database) *Shop {
	if d.IsPostgres {
		return &Shop{d, entsql.OpenDB(dialect.Postgres, d.DB)}
	}
	return &Shop{d, entsql.OpenDB(dialect.SQLite, d.DB)}
}

// Driver has a generated client work in a transaction that the application has begun, and commits itself. The transactions that the client
// begins for statements that belong together are parts of it.
type Driver struct{ *entsql.Driver }

// Tx implements [dialect.Driver].
func (d Driver) Tx(context.Context) (dialect.Tx, error) { return dialect.NopTx(d), nil }

// BeginTx is called by a generated client for a transaction with options. The application has chosen those.
func (d Driver) BeginTx(context.Context, *sql.TxOptions) (dialect.Tx, error) {
	return dialect.NopTx(d), nil
}

// Close implements [dialect.Driver]. The application that began the transaction ends it.
func (d Driver) Close() error { return nil }

// inTx runs a function with a driver for a client and with the transaction beneath it, and commits when it returns no error.
func (s *Shop) inTx(ctx context.Context, fn func(Driver, jobs.Tx) error) error {
	tx, err := s.driver.Tx(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after the commit
	sqlTx, err := SQLTx(tx)
	if err != nil {
		return err
	}
	conn := entsql.Conn{ExecQuerier: sqlTx}
	if err := fn(Driver{entsql.NewDriver(s.driver.Dialect(), conn)}, s.Join(sqlTx)); err != nil {
		return err
	}
	return tx.Commit()
}

// SQLTx returns the transaction beneath one that a driver of ent's package dialect/sql has begun.
func SQLTx(tx dialect.Tx) (*sql.Tx, error) {
	if began, ok := tx.(*entsql.Tx); ok {
		if sqlTx, ok := began.ExecQuerier.(*sql.Tx); ok {
			return sqlTx, nil
		}
	}
	return nil, fmt.Errorf("%T is not a transaction of database/sql", tx)
}

// Place inserts orders and enqueues their jobs in one transaction: all of them, or none.
func (s *Shop) Place(ctx context.Context, items ...string) error {
	return s.inTx(ctx, func(driver Driver, tx jobs.Tx) error {
		for _, item := range items {
			query, args := entsql.Dialect(driver.Dialect()).Insert("orders").Columns("item", "shipments").Values(item, 0).Query()
			if err := driver.Exec(ctx, query, args, nil); err != nil {
				return err
			}
			if _, err := shop.Ship.Enqueue(ctx, s.Client.With(tx), shop.Order{Item: item}); err != nil {
				return err
			}
		}
		return nil
	})
}

// Ship is the handler of the jobs. It ends the job in the transaction of its work.
func (s *Shop) Ship(ctx context.Context, job jobs.Job, order shop.Order) error {
	return s.inTx(ctx, func(driver Driver, tx jobs.Tx) error {
		query, args := entsql.Dialect(driver.Dialect()).Update("orders").Add("shipments", 1).Where(entsql.EQ("item", order.Item)).Query()
		if err := driver.Exec(ctx, query, args, nil); err != nil {
			return err
		}
		return jobs.CompleteTx(ctx, tx, job, "shipped")
	})
}
