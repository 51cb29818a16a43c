package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	dbpostgres "github.com/sqluice/sqluice/db/postgres"
)

// opening is a connection on which something goes ahead of a statement, in the same round trip: the beginning of a
// transaction before its first statement, or settings for the one statement.
type opening struct {
	watched
	// ahead queues what goes ahead and returns what takes its results, or nil when nothing is to go ahead.
	ahead func(*pgx.Batch) func(pgx.BatchResults) error
}

var _ dbpostgres.DBTX = opening{}

// send returns the results of a statement whose forerunners went well; nil when there were none.
func (o opening) send(ctx context.Context, sql string, args []any) (pgx.BatchResults, error) {
	var batch pgx.Batch
	take := o.ahead(&batch)
	if take == nil {
		return nil, nil
	}
	o.extend()
	batch.Queue(sql, args...)
	results := o.conn.SendBatch(ctx, &batch)
	if err := take(results); err != nil {
		_ = results.Close() // it says the same
		return nil, err
	}
	return results, nil
}

func (o opening) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	results, err := o.send(ctx, sql, args)
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	if results == nil {
		return o.watched.Exec(ctx, sql, args...)
	}
	tag, err := results.Exec()
	if closeErr := results.Close(); err == nil {
		err = closeErr
	}
	return tag, err
}

func (o opening) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	results, err := o.send(ctx, sql, args)
	if err != nil {
		return nil, err
	}
	if results == nil {
		return o.watched.Query(ctx, sql, args...)
	}
	rows, err := results.Query()
	if err != nil {
		_ = results.Close() // it says the same
		return nil, err
	}
	return &openingRows{Rows: rows, results: results}, nil
}

func (o opening) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	results, err := o.send(ctx, sql, args)
	if err != nil {
		return failedRow{err}
	}
	if results == nil {
		return o.watched.QueryRow(ctx, sql, args...)
	}
	return openingRow{results}
}

// openingRows are the rows of a statement that was sent with others.
type openingRows struct {
	pgx.Rows
	results pgx.BatchResults
	err     error
}

// Close makes the connection ready for the next statement.
func (r *openingRows) Close() {
	r.Rows.Close()
	r.err = r.results.Close()
}

func (r *openingRows) Next() bool {
	if r.Rows.Next() {
		return true
	}
	r.Close()
	return false
}

func (r *openingRows) Err() error {
	if err := r.Rows.Err(); err != nil {
		return err
	}
	return r.err
}

type openingRow struct{ results pgx.BatchResults }

func (r openingRow) Scan(values ...any) error {
	err := r.results.QueryRow().Scan(values...)
	if closeErr := r.results.Close(); err == nil {
		err = closeErr
	}
	return err
}

type failedRow struct{ err error }

func (r failedRow) Scan(...any) error { return r.err }
