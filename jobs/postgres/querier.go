package postgres

import (
	"context"
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
