package adoption

import (
	"context"
	"database/sql"
	"errors"
)

// Querier runs statements: a pool or a transaction.
type Querier interface {
	QueryContext(ctx context.Context, statement string, args ...any) (*sql.Rows, error)
}

// Read runs an engine's statement, and returns the parts that of returns for its rows of a type, a table, a name and a definition.
func Read(ctx context.Context, q Querier, of func(kind, table, name, definition string) []Part, statement string, args ...any) (parts []Part, err error) {
	rows, err := q.QueryContext(ctx, statement, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var kind, table, name, definition string
		if err := rows.Scan(&kind, &table, &name, &definition); err != nil {
			return nil, err
		}
		parts = append(parts, of(kind, table, name, definition)...)
	}
	return parts, rows.Err()
}

// InTransaction runs work and then end in a transaction. end commits the transaction or rolls it back. An error of work rolls it back.
func InTransaction(ctx context.Context, pool *sql.DB, work, end func(*sql.Tx) error) error {
	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := work(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return end(tx)
}
