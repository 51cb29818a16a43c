package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	dbpostgres "github.com/sqluice/sqluice/db/postgres"
)

// preamble is a connection on which something is sent ahead of a statement, in the same round trip: BEGIN before a
// transaction's first statement, or settings for one statement.
type preamble struct {
	watched
	// ahead queues what to send first and returns a function that reads its results, or nil if there is nothing to send.
	ahead func(*pgx.Batch) func(pgx.BatchResults) error
	// first, when not nil, does what ahead does in its own round trip, before a statement that is not prepared yet: pgx prepares all of a
	// batch before it sends any of it, and to do so the server waits for a table's lock, without the transaction's timeout.
	first func() error
	mode  pgx.QueryExecMode // the mode of the connection
}

var _ dbpostgres.DBTX = preamble{}

// send returns the results of a statement after those sent ahead of it succeeded; nil if nothing was sent ahead.
func (o preamble) send(ctx context.Context, sql string, args []any) (pgx.BatchResults, error) {
	if o.first != nil && !o.prepared(sql) {
		return nil, o.first()
	}
	var batch pgx.Batch
	take := o.ahead(&batch)
	if take == nil {
		return nil, nil
	}
	o.extend()
	batch.Queue(sql, args...)
	results := o.conn.SendBatch(ctx, &batch)
	if err := take(results); err != nil {
		_ = results.Close() // it returns the same error
		return nil, err
	}
	return results, nil
}

func (o preamble) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	results, err := o.send(ctx, sql, args)
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	if results == nil {
		tag, err := o.watched.Exec(ctx, sql, args...)
		return tag, o.note(sql, err)
	}
	tag, err := results.Exec()
	if closeErr := results.Close(); err == nil {
		err = closeErr
	}
	return tag, err
}

func (o preamble) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	results, err := o.send(ctx, sql, args)
	if err != nil {
		return nil, err
	}
	if results == nil {
		rows, err := o.watched.Query(ctx, sql, args...)
		return rows, o.note(sql, err)
	}
	rows, err := results.Query()
	if err != nil {
		_ = results.Close() // it returns the same error
		return nil, err
	}
	return &preambleRows{Rows: rows, results: results}, nil
}

func (o preamble) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	results, err := o.send(ctx, sql, args)
	if err != nil {
		return failedRow{err}
	}
	if results == nil {
		return preparingRow{o.watched.QueryRow(ctx, sql, args...), o, sql}
	}
	return preambleRow{results}
}

// preparedKey is the key under which a connection records its prepared statements.
const preparedKey = "sqluice: prepared"

func (o preamble) prepared(sql string) bool { return prepared(o.conn, o.mode, sql) }

// prepared reports whether pgx sends a statement without a round trip to prepare it. It also returns true for one that
// pgx has dropped from its limited cache: that costs no more than a longer wait.
func prepared(conn *pgx.Conn, mode pgx.QueryExecMode, sql string) bool {
	switch mode {
	case pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol:
		return true
	case pgx.QueryExecModeDescribeExec:
		return false
	}
	known, _ := conn.PgConn().CustomData()[preparedKey].(map[string]struct{})
	_, ok := known[sql]
	return ok
}

// note records that a statement was prepared, if it was, and returns err.
func (o preamble) note(sql string, err error) error {
	if o.first == nil || err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	data := o.conn.PgConn().CustomData()
	known, _ := data[preparedKey].(map[string]struct{})
	if known == nil {
		known = map[string]struct{}{}
		data[preparedKey] = known
	}
	known[sql] = struct{}{}
	return err
}

// preparingRow is the row of a statement that was sent alone.
type preparingRow struct {
	pgx.Row
	preamble preamble
	sql      string
}

func (r preparingRow) Scan(values ...any) error { return r.preamble.note(r.sql, r.Row.Scan(values...)) }

// preambleRows is the result of a statement that was sent with others.
type preambleRows struct {
	pgx.Rows
	results pgx.BatchResults
	err     error
}

// Close makes the connection ready for the next statement.
func (r *preambleRows) Close() {
	r.Rows.Close()
	r.err = r.results.Close()
}

func (r *preambleRows) Next() bool {
	if r.Rows.Next() {
		return true
	}
	r.Close()
	return false
}

func (r *preambleRows) Err() error {
	if err := r.Rows.Err(); err != nil {
		return err
	}
	return r.err
}

type preambleRow struct{ results pgx.BatchResults }

func (r preambleRow) Scan(values ...any) error {
	err := r.results.QueryRow().Scan(values...)
	if closeErr := r.results.Close(); err == nil {
		err = closeErr
	}
	return err
}

type failedRow struct{ err error }

func (r failedRow) Scan(...any) error { return r.err }
