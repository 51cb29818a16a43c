package guides_test

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/sqluice/sqluice/jobs"
)

// Book and Page are payloads.
type (
	Book struct{ ID int64 }
	Page struct {
		Book   int64
		Number int
	}
)

var (
	RenderPage = jobs.Kind[Page]{Name: "render-page"}
	BindBook   = jobs.Kind[Book]{Name: "bind-book"}
	MailBook   = jobs.Kind[Book]{Name: "mail-book"}
)

// press has what the handlers of books need.
type press struct {
	db     *sql.DB
	client *jobs.Client
}

// inTx runs fn in a transaction, and commits it if fn returns nil.
func (p *press) inTx(ctx context.Context, fn func(tx *sql.Tx) error) error {
	tx, err := p.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after the commit
	if err := fn(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// print adds a book and a job for each of its pages: all of them or none.
func (p *press) print(ctx context.Context, id int64, pages int) error {
	return p.inTx(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "INSERT INTO books (id, pages_left) VALUES (?, ?)", id, pages); err != nil {
			return err
		}
		for n := range pages {
			if _, err := RenderPage.Enqueue(ctx, p.client.WithSQL(tx), Page{Book: id, Number: n + 1}); err != nil {
				return err
			}
		}
		return nil
	})
}

// renderPage counts the book's pages down. The page that comes last enqueues the next step.
func (p *press) renderPage(ctx context.Context, job jobs.Job, page Page) error {
	return p.inTx(ctx, func(tx *sql.Tx) error {
		var left int
		row := tx.QueryRowContext(ctx, "UPDATE books SET pages_left = pages_left - 1 WHERE id = ? RETURNING pages_left", page.Book)
		if err := row.Scan(&left); err != nil {
			return err
		}
		if left == 0 {
			if _, err := BindBook.Enqueue(ctx, p.client.WithSQL(tx), Book{ID: page.Book}); err != nil {
				return err
			}
		}
		return jobs.CompleteTx(ctx, p.client.SQLTx(tx), job, nil)
	})
}

// bindBook enqueues the next job of the chain in the transaction that ends its own.
func (p *press) bindBook(ctx context.Context, job jobs.Job, book Book) error {
	return p.inTx(ctx, func(tx *sql.Tx) error {
		if _, err := MailBook.Enqueue(ctx, p.client.WithSQL(tx), book); err != nil {
			return err
		}
		return jobs.CompleteTx(ctx, p.client.SQLTx(tx), job, nil)
	})
}

// docs/chains.md
func Example_chains() {
	ctx := context.Background()
	db, client, done := openShop(ctx)
	defer done()
	_, err := db.ExecContext(ctx, "CREATE TABLE books (id INTEGER PRIMARY KEY, pages_left INTEGER NOT NULL)")
	check(err)
	p := &press{db, client}
	check(p.print(ctx, 7, 20))

	runner := newRunner(client)
	RenderPage.Handle(runner, p.renderPage)
	BindBook.Handle(runner, p.bindBook)
	MailBook.Handle(runner, func(_ context.Context, _ jobs.Job, book Book) error {
		fmt.Println("book", book.ID, "is in the mail")
		return nil
	})
	check(runner.Drain(ctx))
	// Output: book 7 is in the mail
}
