package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sqluice/sqluice/db"
	dbpostgres "github.com/sqluice/sqluice/db/postgres"
	"github.com/sqluice/sqluice/jobs"
)

// errNotPrepared keeps a statement from being sent with others: see opening.
var errNotPrepared = errors.New("the statement is not prepared on its connection yet")

// WriteOne sends BEGIN, settings, fn's statement and COMMIT in one round trip. The number of that transaction is known when all is over:
// what became of it can be asked for only where there is a round trip to begin with.
func (s *Store) WriteOne(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	return s.write(context.WithoutCancel(ctx), 1, func(ctx context.Context, fn statements) error {
		if s.unprepared.Load() {
			return s.transact(ctx, fn)
		}
		err := s.transactOne(ctx, fn)
		if errors.Is(err, errNotPrepared) {
			err = s.transact(ctx, fn)
		}
		return err
	}, func(ctx context.Context, q db.Querier, _ func(string)) error { return fn(ctx, q) })
}

// transactOne is transact for one statement. Its error means that nothing was committed, but for ErrUnknownOutcome, and for fn's own.
func (s *Store) transactOne(ctx context.Context, fn statements) (err error) {
	conn, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release() // which closes it when the transaction is still open, as after an error
	w := s.watchWrite(ctx, conn)
	var after []func()
	over := false // the transaction, before its statement
	q := queries{dbpostgres.New(placed{opening{
		watched: watched{conn.Conn(), w}, mode: s.mode,
		first: func() error { return errNotPrepared },
		ahead: func(batch *pgx.Batch) func(pgx.BatchResults) error {
			batch.Queue(control("begin"))
			batch.Queue(control("one_statement"))
			return func(results pgx.BatchResults) error {
				err := errors.Join(takeOne(results), takeOne(results))
				var server *pgconn.PgError
				over = errors.As(err, &server)
				return err
			}
		},
		behind: func(batch *pgx.Batch) { batch.Queue(control("commit")) },
	}, s, true})}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in a write: %v", p)
		}
		if err = w.end(err); broken(err) && !pgconn.SafeToRetry(err) && !over {
			err = fmt.Errorf("%w: %w", jobs.ErrUnknownOutcome, err)
		}
	}()
	announce := func(string) {} // it adds no jobs
	if err := fn(w.ctx, floored{q, s.floors, q, func(fn func()) { after = append(after, fn) }}, announce); err != nil {
		return err
	}
	for _, fn := range after {
		fn()
	}
	return nil
}
