package main

import (
	"context"
	"database/sql"
)

// order is a row of the shop's own table, which knows nothing of the queue.
type order struct {
	ID       int64  `json:"id"`
	Customer string `json:"customer"`
	Item     string `json:"item"`
	Tracking string `json:"tracking,omitempty"` // set when it was shipped
}

func createOrders(ctx context.Context, db *sql.DB) error {
	_, err := db.ExecContext(ctx, `
		CREATE TABLE IF NOT EXISTS orders (
			id       INTEGER PRIMARY KEY,
			customer TEXT NOT NULL CHECK (length(customer) BETWEEN 1 AND 200),
			item     TEXT NOT NULL CHECK (length(item) BETWEEN 1 AND 200),
			tracking TEXT
		) STRICT`)
	return err
}

func insertOrder(ctx context.Context, tx *sql.Tx, o *order) error {
	return tx.QueryRowContext(ctx, `INSERT INTO orders (customer, item) VALUES (?, ?) RETURNING id`,
		o.Customer, o.Item).Scan(&o.ID)
}

func getOrder(ctx context.Context, db *sql.DB, id int64) (order, error) {
	o := order{ID: id}
	err := db.QueryRowContext(ctx, `SELECT customer, item, COALESCE(tracking, '') FROM orders WHERE id = ?`, id).
		Scan(&o.Customer, &o.Item, &o.Tracking)
	return o, err
}

func setTracking(ctx context.Context, tx *sql.Tx, id int64, tracking string) error {
	_, err := tx.ExecContext(ctx, `UPDATE orders SET tracking = ? WHERE id = ?`, tracking, id)
	return err
}
