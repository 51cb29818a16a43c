package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sqluice/sqluice/db"
	dbpostgres "github.com/sqluice/sqluice/db/postgres"
)

// querier gives the generated statements on a transaction: one of the engine's own, or a caller's, which is nil here.
func (s *Store) querier(conn dbpostgres.DBTX, prepare bool, own *transaction) db.Querier {
	at := placed{conn, s, prepare}
	q := queries{dbpostgres.New(at)}
	if own == nil {
		return recounting{floored{q, s.floors, q, never}, at}
	}
	f := floored{q, s.floors, q, own.afterCommit}
	if s.options.silent {
		return recounting{f, at}
	}
	return recounting{ringing{f, own.ring}, at}
}

// never does nothing, where it is not known whether a transaction is committed. No jobs are claimed or given back there.
func never(func()) {}

// recounting makes a recount wait for the end of another: two at once would each find the same counts wrong, and correct them
// twice. The lock blocks nothing else.
type recounting struct {
	db.Querier
	conn placed
}

func (r recounting) RecountJobs(ctx context.Context, now int64) (int64, error) {
	if _, err := r.conn.Exec(ctx, control("lock_counts")); err != nil {
		return 0, err
	}
	return r.Querier.RecountJobs(ctx, now)
}

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

// ringing rings the doorbell when jobs are added: once for each queue of a transaction.
type ringing struct {
	floored
	ring func(ctx context.Context, queue string) error
}

func (r ringing) EnqueueJob(ctx context.Context, arg db.EnqueueJobParams) (int64, error) {
	id, err := r.floored.EnqueueJob(ctx, arg)
	if err == nil {
		err = r.ring(ctx, arg.Queue)
	}
	return id, err
}

func (r ringing) EnqueueKeylessJob(ctx context.Context, arg db.EnqueueKeylessJobParams) (int64, error) {
	id, err := r.floored.EnqueueKeylessJob(ctx, arg)
	if err == nil {
		err = r.ring(ctx, arg.Queue)
	}
	return id, err
}

func (r ringing) EnqueueJobs(ctx context.Context, arg db.EnqueueJobsParams) ([]int64, error) {
	ids, err := r.floored.EnqueueJobs(ctx, arg)
	if err == nil {
		err = r.ring(ctx, arg.Queue)
	}
	return ids, err
}
