package ent

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/sqluice/sqluice/examples/recipes/shop"
	"github.com/sqluice/sqluice/jobs"
)

// The writes that a generated client commits by itself are a part of the application's transaction.
func TestATransactionOfAClientIsPartOfTheApplications(t *testing.T) {
	d, err := shop.OpenSQLite(t.Context(), filepath.Join(t.TempDir(), "app.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	rolledBack := errors.New("rolled back")
	err = Open(d).inTx(t.Context(), func(driver Driver, _ jobs.Tx) error {
		tx, err := driver.Tx(t.Context())
		if err != nil {
			return err
		}
		if err := tx.Exec(t.Context(), `INSERT INTO orders (item) VALUES ('gears')`, []any{}, nil); err != nil {
			return err
		}
		if err := tx.Commit(); err != nil {
			return err
		}
		return rolledBack
	})
	if !errors.Is(err, rolledBack) {
		t.Fatal(err)
	}
	var orders int
	if err := d.DB.QueryRow(`SELECT count(*) FROM orders`).Scan(&orders); err != nil || orders != 0 {
		t.Errorf("%d orders are left: %v", orders, err)
	}
}
