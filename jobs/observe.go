package jobs

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/engine"
)

// observed is a store that tells an observer of its statements and of what fails.
type observed struct {
	Store
	observer *Observer
}

// observe returns the store itself when its observer has neither Queried nor Failed.
func observe(store Store) Store {
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

func (s observed) Insert(ctx context.Context, in engine.Insert) ([]int64, error) {
	in.Ran = s.observer.Queried
	ids, err := s.Store.Insert(ctx, in)
	if err != nil && s.observer.Failed != nil && !engine.Refused(err) && ctx.Err() == nil {
		s.observer.Failed(err)
	}
	return ids, err
}

func (s observed) InsertWith(ctx context.Context, queue string, fn engine.InsertFunc) error {
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

func (s observed) WriteOne(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	return s.watch(ctx, s.Store.WriteOne, fn)
}

func (s observed) Join(tx Tx) (db.Querier, error) {
	q, err := s.Store.Join(tx)
	if err != nil || s.observer.Queried == nil {
		return q, err
	}
	return db.Timed(q, s.observer.Queried), nil
}

type work = func(context.Context, db.Querier) error

// watch tells the observer of the statements, and of an error of the database. An error of fn itself, such as a missing job, is
// not one of the database, and a cancelled context is not a failure.
func (s observed) watch(ctx context.Context, do func(context.Context, work) error, fn work) error {
	var own error
	failed := false
	note := func(name string, took time.Duration, err error) {
		failed = failed || err != nil && !errors.Is(err, sql.ErrNoRows)
		if s.observer.Queried != nil {
			s.observer.Queried(name, took, err)
		}
	}
	err := do(ctx, func(ctx context.Context, q db.Querier) error {
		failed = false // the store may run it again
		own = fn(ctx, db.Timed(q, note))
		return own
	})
	if err != nil && s.observer.Failed != nil && (own == nil || failed) && ctx.Err() == nil {
		s.observer.Failed(err)
	}
	return err
}

// tellEnqueued takes an observer that may be nil.
func tellEnqueued(o *Observer, e *enqueue, jobs int, existed, inTx bool) {
	if o == nil || o.Enqueued == nil {
		return
	}
	o.Enqueued(Enqueued{Kind: e.kind, Queue: e.queue, Jobs: jobs, Existed: existed, InTx: inTx})
}
