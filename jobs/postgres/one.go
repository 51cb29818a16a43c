package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sqluice/sqluice/db"
	dbpostgres "github.com/sqluice/sqluice/db/postgres"
	"github.com/sqluice/sqluice/jobs"
)

// WriteOne runs fn's statement, with the settings for it, in one round trip, which PostgreSQL makes a transaction. Nobody knows the
// number of that: what became of it can be asked for only where there is a round trip to begin with.
func (s *Store) WriteOne(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	ctx = context.WithoutCancel(ctx)
	if s.unprepared.Load() { // and the settings would be for nothing
		return s.Write(ctx, fn)
	}
	return s.write(ctx, 1, s.transactOne, fn)
}

func (s *Store) transactOne(ctx context.Context, fn statements) error {
	conn, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	w := newWatch(ctx, s.options.silence)
	var after []func()
	q := queries{dbpostgres.New(placed{opening{watched: watched{conn.Conn(), w}, ahead: settingsForOne}, s, true})}
	err = w.end(fn(w.ctx, floored{q, s.floors, q, func(fn func()) { after = append(after, fn) }}))
	switch {
	case err == nil:
		for _, fn := range after {
			fn()
		}
	case lost(err) && !notConnected(err) && !pgconn.SafeToRetry(err):
		err = fmt.Errorf("%w: %w", jobs.ErrUnknownOutcome, err)
	}
	return err
}

func settingsForOne(batch *pgx.Batch) func(pgx.BatchResults) error {
	batch.Queue(control("one_statement"))
	return takeOne
}
