// Package sqlx is the recipe for sqlx.
//
// sqlx takes the application's *sql.DB, and a *sqlx.Tx has the *sql.Tx as its field Tx. The name that is given beside the pool only chooses
// the form of placeholders: sqlite for ?, pgx for $1.
package sqlx

import (
	"context"

	"github.com/jmoiron/sqlx"

	"github.com/sqluice/sqluice/examples/recipes/shop"
	"github.com/sqluice/sqluice/jobs"
)

// Order is a row of the application's table.
type Order struct {
	Item      string `db:"item"`
	Shipments int64  `db:"shipments"`
}

// Shop places and ships orders.
type Shop struct {
	*shop.Database
	sqlx *sqlx.DB
}

// Open gives sqlx the application's pool.
func Open(d *shop.Database) *Shop {
	if d.IsPostgres {
		return &Shop{d, sqlx.NewDb(d.DB, "pgx")}
	}
	return &Shop{d, sqlx.NewDb(d.DB, "sqlite")}
}

// Place inserts orders and enqueues their jobs in one transaction: all of them, or none.
func (s *Shop) Place(ctx context.Context, items ...string) error {
	tx, err := s.sqlx.BeginTxx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after the commit
	for _, item := range items {
		_, err := tx.NamedExecContext(ctx, `INSERT INTO orders (item, shipments) VALUES (:item, :shipments)`, Order{Item: item})
		if err != nil {
			return err
		}
		if _, err := shop.Ship.Enqueue(ctx, s.Client.With(s.Join(tx.Tx)), shop.Order{Item: item}); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// Ship is the handler of the jobs. It ends the job in the transaction of its work.
func (s *Shop) Ship(ctx context.Context, job jobs.Job, order shop.Order) error {
	tx, err := s.sqlx.BeginTxx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after the commit
	if _, err := tx.ExecContext(ctx, tx.Rebind(`UPDATE orders SET shipments = shipments + 1 WHERE item = ?`), order.Item); err != nil {
		return err
	}
	if err := jobs.CompleteTx(ctx, s.Join(tx.Tx), job, "shipped"); err != nil {
		return err
	}
	return tx.Commit()
}
