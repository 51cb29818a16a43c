package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sqluice/sqluice/db"
	dbpostgres "github.com/sqluice/sqluice/db/postgres"
)

// querier returns the generated statements on a transaction. afterCommit takes functions to call after its commit.
func (s *Store) querier(conn dbpostgres.DBTX, prepare bool, afterCommit func(func())) db.Querier {
	q := queries{dbpostgres.New(placed{conn, s, prepare})}
	return floored{q, s.floors, q, afterCommit}
}

// never does nothing, where it is not known whether a transaction is committed. No jobs are claimed or given back there.
func never(func()) {}

// reader gives them on a connection for reading. Those that workers look with each time are prepared, and planned as in
// the engine's own transactions.
func (s *Store) reader(conn watched) db.Querier {
	q := queries{dbpostgres.New(placed{conn, s, false})}
	if s.unprepared.Load() {
		return floored{q, s.floors, q, never}
	}
	return floored{q, s.floors, queries{dbpostgres.New(placed{opening{watched: conn, ahead: planByIndexes}, s, true})}, never}
}

func planByIndexes(batch *pgx.Batch) func(pgx.BatchResults) error {
	batch.Queue(control("plan_by_indexes"))
	return takeOne
}

// takeOne takes the results of one statement that went ahead.
func takeOne(results pgx.BatchResults) error {
	_, err := results.Exec()
	return err
}

// once returns the arguments of a statement that the server must not prepare.
func once(args ...any) []any { return append([]any{pgx.QueryExecModeExec}, args...) }

// placed puts every statement in the queue's schema. It prepares them only where that was prepared for: the server keeps
// the plan of a prepared statement, also one that it made when the tables were empty and that reads whole tables, and
// behind a pooler the connection may be another one the next time.
type placed struct {
	conn    dbpostgres.DBTX
	store   *Store
	prepare bool
}

func (p placed) args(args []any) []any {
	if p.prepare {
		return args
	}
	return once(args...)
}

func (p placed) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	return p.conn.Exec(ctx, p.store.names.qualify(sql), p.args(args)...)
}

func (p placed) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	return p.conn.Query(ctx, p.store.names.qualify(sql), p.args(args)...)
}

func (p placed) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	return p.conn.QueryRow(ctx, p.store.names.qualify(sql), p.args(args)...)
}
