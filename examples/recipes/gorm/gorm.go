// Package gorm is the recipe for GORM.
//
// GORM takes the application's *sql.DB, and the *sql.Tx of its transaction is in tx.Statement.ConnPool: see [SQLTx].
//
// On SQLite the dialect is github.com/libtnb/sqlite, which is made for modernc.org/sqlite. Two others do not fit:
// github.com/glebarez/sqlite registers another driver by the name sqlite, so that the program panics when it starts, and
// gorm.io/driver/sqlite imports mattn's driver, which needs cgo and is another build of SQLite.
package gorm

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/libtnb/sqlite"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/sqluice/sqluice/examples/recipes/shop"
	"github.com/sqluice/sqluice/jobs"
)

// Order is a row of the application's table.
type Order struct {
	Item      string `gorm:"primaryKey"`
	Shipments int64
}

// Shop places and ships orders.
type Shop struct {
	*shop.Database
	gorm *gorm.DB
}

// Open gives GORM the application's pool.
func Open(d *shop.Database, config *gorm.Config) (*Shop, error) {
	dialect := sqlite.New(sqlite.Config{Conn: d.DB})
	if d.IsPostgres {
		dialect = postgres.New(postgres.Config{Conn: d.DB})
	}
	db, err := gorm.Open(dialect, config)
	return &Shop{d, db}, err
}

// SQLTx returns the transaction beneath the one that GORM gives to a function. With PrepareStmt GORM puts another type around it.
func SQLTx(tx *gorm.DB) (*sql.Tx, error) {
	pool := tx.Statement.ConnPool
	if prepared, ok := pool.(*gorm.PreparedStmtTX); ok {
		pool = prepared.Tx
	}
	if sqlTx, ok := pool.(*sql.Tx); ok {
		return sqlTx, nil
	}
	return nil, fmt.Errorf("GORM is not in a transaction of database/sql: its connection is a %T", pool)
}

// Place inserts orders and enqueues their jobs in one transaction: all of them, or none.
func (s *Shop) Place(ctx context.Context, items ...string) error {
	return s.gorm.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		sqlTx, err := SQLTx(tx)
		if err != nil {
			return err
		}
		for _, item := range items {
			if err := tx.Create(&Order{Item: item}).Error; err != nil {
				return err
			}
			if _, err := shop.Ship.Enqueue(ctx, s.Client.With(s.Join(sqlTx)), shop.Order{Item: item}); err != nil {
				return err
			}
		}
		return nil
	})
}

// Ship is the handler of the jobs. It ends the job in the transaction of its work.
func (s *Shop) Ship(ctx context.Context, job jobs.Job, order shop.Order) error {
	return s.gorm.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		sqlTx, err := SQLTx(tx)
		if err != nil {
			return err
		}
		err = tx.Model(&Order{Item: order.Item}).Update("shipments", gorm.Expr("shipments + 1")).Error
		if err != nil {
			return err
		}
		return jobs.CompleteTx(ctx, s.Join(sqlTx), job, "shipped")
	})
}
