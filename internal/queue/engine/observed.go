package engine

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// observed is a store that reports its statements and failures to an observer.
type observed struct {
	Store
	observer *jobtype.Observer
}

// Observed returns a store that reports its statements and failures to its observer; it returns the store itself when the observer has
// neither Queried nor Failed.
func Observed(store Store) Store {
	o := store.Observer()
	if o == nil || o.Queried == nil && o.Failed == nil {
		return store
	}
	return observed{store, o}
}

func (s observed) Read(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	return s.watch(ctx, s.Store.Read, fn)
}

func (s observed) Inspect(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	return s.watch(ctx, s.Store.Inspect, fn)
}

func (s observed) Write(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	return s.watch(ctx, s.Store.Write, fn)
}

func (s observed) Insert(ctx context.Context, in Insert) ([]int64, error) {
	in.Ran = s.observer.Queried
	ids, err := s.Store.Insert(ctx, in)
	if err != nil && s.observer.Failed != nil && !Refused(err) && ctx.Err() == nil {
		s.observer.Failed(err)
	}
	return ids, err
}

func (s observed) InsertWith(ctx context.Context, queue string, fn InsertFunc) error {
	var inserted bool
	return s.watch(ctx, func(ctx context.Context, fn work) error {
		return s.Store.InsertWith(ctx, queue, func(ctx context.Context, q db.Querier) (bool, error) {
			err := fn(ctx, q)
			return inserted, err
		})
	}, func(ctx context.Context, q db.Querier) (err error) {
		inserted, err = fn(ctx, q)
		return err
	})
}

func (s observed) Exchange(ctx context.Context, p Plan) (Outcome, error) {
	w := watch{observer: s.observer}
	before, after := p.Before, p.After
	p.Ran = w.ran
	p.Before = func(ctx context.Context, q db.Querier, now time.Time) error {
		w.begin() // the store may run it again
		if before == nil {
			return nil
		}
		return w.keep(before(ctx, q, now))
	}
	if after != nil {
		p.After = func(ctx context.Context, q db.Querier, out *Outcome) error { return w.keep(after(ctx, q, out)) }
	}
	out, err := s.Store.Exchange(ctx, p)
	return out, w.end(ctx, err)
}

func (s observed) Transactions() Transactions {
	if s.observer.Queried == nil {
		return s.Store.Transactions()
	}
	return observedTransactions{s.Store.Transactions(), s.observer}
}

// observedTransactions reports the statements in callers' transactions to an observer.
type observedTransactions struct {
	Transactions
	observer *jobtype.Observer
}

func (t observedTransactions) Join(tx jobtype.Tx) (db.Querier, error) {
	q, err := t.Transactions.Join(tx)
	if err != nil {
		return q, err
	}
	return db.Timed(q, t.observer.Queried), nil
}

type work = func(context.Context, db.Querier) error

func (s observed) watch(ctx context.Context, do func(context.Context, work) error, fn work) error {
	w := watch{observer: s.observer}
	return w.end(ctx, do(ctx, w.statements(func(ctx context.Context, q db.Querier) error {
		w.begin() // the store may run it again
		return fn(ctx, q)
	})))
}

// watch reports the statements of a transaction, and an error of the database, to the observer. An error of a function itself, such
// as a missing job, is not one of the database, and a cancelled context is not a failure.
type watch struct {
	observer *jobtype.Observer
	own      error // the error of the first function that failed
	failed   bool  // a statement of that function failed
}

func (w *watch) begin() { w.own, w.failed = nil, false }

// statements wraps fn so that the observer gets each statement.
func (w *watch) statements(fn work) work {
	return func(ctx context.Context, q db.Querier) error { return w.keep(fn(ctx, db.Timed(q, w.ran))) }
}

// ran reports a statement to the observer.
func (w *watch) ran(name string, took time.Duration, err error) {
	w.failed = w.failed || err != nil && !errors.Is(err, sql.ErrNoRows)
	if w.observer.Queried != nil {
		w.observer.Queried(name, took, err)
	}
}

// keep stores the error of a function, and returns it.
func (w *watch) keep(err error) error {
	w.own = cmp.Or(w.own, err)
	return err
}

// end reports the transaction's error to the observer, and returns it.
func (w *watch) end(ctx context.Context, err error) error {
	if err != nil && w.observer.Failed != nil && (w.own == nil || w.failed) && ctx.Err() == nil {
		w.observer.Failed(err)
	}
	return err
}
