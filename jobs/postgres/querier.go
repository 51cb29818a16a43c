package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sqluice/sqluice/db"
	dbpostgres "github.com/sqluice/sqluice/db/postgres"
)

// querier gives the generated statements on a connection, a pool or a transaction. ring, when not nil, is called after
// jobs were added to a queue.
func (s *Store) querier(conn dbpostgres.DBTX, ring func(ctx context.Context, queue string) error) db.Querier {
	q := floored{queries{dbpostgres.New(placed{conn, s})}, s.floors}
	if ring == nil || s.options.silent {
		return q
	}
	return ringing{q, ring}
}

// mode are the arguments of a statement for the way in which it is to be run: behind a pooler nothing can be prepared.
func (s *Store) mode(args ...any) []any {
	if !s.unprepared.Load() {
		return args
	}
	return append([]any{pgx.QueryExecModeExec}, args...)
}

// placed puts every statement in the queue's schema and runs it in the right mode.
type placed struct {
	conn  dbpostgres.DBTX
	store *Store
}

func (p placed) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	return p.conn.Exec(ctx, p.store.names.qualify(sql), p.store.mode(args...)...)
}

func (p placed) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	return p.conn.Query(ctx, p.store.names.qualify(sql), p.store.mode(args...)...)
}

func (p placed) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	return p.conn.QueryRow(ctx, p.store.names.qualify(sql), p.store.mode(args...)...)
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

func (r ringing) EnqueueJobs(ctx context.Context, arg db.EnqueueJobsParams) ([]int64, error) {
	ids, err := r.floored.EnqueueJobs(ctx, arg)
	if err == nil {
		err = r.ring(ctx, arg.Queue)
	}
	return ids, err
}
