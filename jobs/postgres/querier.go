package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	dbpostgres "github.com/sqluice/sqluice/db/postgres"
	"github.com/sqluice/sqluice/internal/sqlfiles"
)

// control returns a statement of sql/control/postgres, by the name of its file.
var control = sqlfiles.Control("postgres")

// controlOn returns a statement that takes a name where PostgreSQL takes no parameter.
func controlOn(name, identifier string) string {
	return strings.ReplaceAll(control(name), "@name", pgx.Identifier{identifier}.Sanitize())
}

// once returns the arguments of a statement that the server must not prepare.
func once(args ...any) []any { return append([]any{pgx.QueryExecModeExec}, args...) }

// placed directs every statement to the queue's schema. It prepares statements only if prepare allows it: the server
// keeps the plan of a prepared statement, even one that it made when the tables were empty and that reads whole tables,
// and behind a pooler the next connection may be another one.
type placed struct {
	conn    dbpostgres.DBTX
	names   *namespace
	prepare bool
}

func (p placed) args(args []any) []any {
	if p.prepare {
		return args
	}
	return once(args...)
}

func (p placed) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	return p.conn.Exec(ctx, p.names.qualify(sql), p.args(args)...)
}

func (p placed) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	return p.conn.Query(ctx, p.names.qualify(sql), p.args(args)...)
}

func (p placed) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	return p.conn.QueryRow(ctx, p.names.qualify(sql), p.args(args)...)
}

// sqlTx runs the generated statements, which are made for pgx, in a transaction of database/sql.
type sqlTx struct{ tx *sql.Tx }

func (t sqlTx) Exec(ctx context.Context, statement string, args ...any) (pgconn.CommandTag, error) {
	result, err := t.tx.ExecContext(ctx, statement, plain(args)...)
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	n, err := result.RowsAffected()
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	return pgconn.NewCommandTag(fmt.Sprintf("ROWS %d", n)), nil // the count is the last word of the tag
}

func (t sqlTx) Query(ctx context.Context, statement string, args ...any) (pgx.Rows, error) {
	rows, err := t.tx.QueryContext(ctx, statement, plain(args)...)
	if err != nil {
		return nil, err
	}
	return &sqlRows{rows: rows}, nil
}

func (t sqlTx) QueryRow(ctx context.Context, statement string, args ...any) pgx.Row {
	return t.tx.QueryRowContext(ctx, statement, plain(args)...)
}

// plain removes pgx's execution modes from the arguments: here the application chooses the mode.
func plain(args []any) []any {
	if len(args) > 0 {
		if _, ok := args[0].(pgx.QueryExecMode); ok {
			return args[1:]
		}
	}
	return args
}

// sqlRows adapts rows of database/sql to the generated code, which calls no method of the embedded nil interface: database/sql lacks the
// results of those.
type sqlRows struct {
	pgx.Rows
	rows *sql.Rows
	err  error // the error of Close
}

func (r *sqlRows) Close()                   { r.err = errors.Join(r.err, r.rows.Close()) }
func (r *sqlRows) Err() error               { return errors.Join(r.rows.Err(), r.err) }
func (r *sqlRows) Next() bool               { return r.rows.Next() }
func (r *sqlRows) Scan(values ...any) error { return r.rows.Scan(values...) }
