package guides_test

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// Invoice is the payload of a job that writes an invoice.
type Invoice struct{ Order int64 }

var WriteInvoice = jobs.Kind[Invoice]{Name: "write-invoice"}

// placeOrder commits the order and its job together.
func placeOrder(ctx context.Context, pool *sql.DB, client *jobs.Client, item string) error {
	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after the commit
	inserted, err := tx.ExecContext(ctx, "INSERT INTO orders (item) VALUES (?)", item)
	if err != nil {
		return err
	}
	order, err := inserted.LastInsertId()
	if err != nil {
		return err
	}
	if _, err := WriteInvoice.Enqueue(ctx, client.With(sqlite.Tx(tx)), Invoice{Order: order}); err != nil {
		return err
	}
	return tx.Commit()
}

// writeInvoice returns a handler that commits the invoice and the end of its job together.
func writeInvoice(pool *sql.DB) jobs.Handler[Invoice] {
	return func(ctx context.Context, job jobs.Job, args Invoice) error {
		tx, err := pool.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if _, err := tx.ExecContext(ctx, "INSERT INTO invoices (order_id) VALUES (?)", args.Order); err != nil {
			return err
		}
		if err := jobs.CompleteTx(ctx, sqlite.Tx(tx), job, nil); err != nil {
			return err
		}
		return tx.Commit()
	}
}

func Example_transactions() {
	ctx := context.Background()
	pool, client, done := openShop(ctx)
	defer done()
	_, err := pool.ExecContext(ctx, "CREATE TABLE orders (id INTEGER PRIMARY KEY, item TEXT); CREATE TABLE invoices (order_id INTEGER)")
	check(err)
	check(placeOrder(ctx, pool, client, "gears"))
	runner := newRunner(client)
	WriteInvoice.Handle(runner, writeInvoice(pool))
	check(runner.Drain(ctx))

	var invoices int
	check(pool.QueryRowContext(ctx, "SELECT COUNT(*) FROM invoices").Scan(&invoices))
	fmt.Println(invoices, "invoice")
	// Output: 1 invoice
}

func Example_ownTransaction() {
	ctx := context.Background()
	_, client, done := openShop(ctx)
	defer done()
	err := client.Tx(ctx, func(ctx context.Context, tx *jobs.Client) error {
		if _, err := WriteInvoice.Enqueue(ctx, tx, Invoice{Order: 1}); err != nil {
			return err
		}
		_, err := WriteInvoice.Enqueue(ctx, tx, Invoice{Order: 2})
		return err
	})
	fmt.Println(err)
	// Output: <nil>
}
