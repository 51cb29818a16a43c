package engine

import (
	"context"
	"errors"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/cipher"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Func is a function that runs statements.
type Func = func(context.Context, db.Querier) error

// InsertFunc is a function that runs statements that insert jobs into one queue. It reports whether they inserted any.
type InsertFunc = func(context.Context, db.Querier) (inserted bool, err error)

// Scope holds the store or transaction in which a client's statements run, and what the client may show. A Scope is not
// changed after it was sealed, and may be used concurrently unless it has a Tx.
type Scope struct {
	Store    Store
	Identity any            // equal for all clients of the store, which recognize each other by it
	Tx       jobtype.Tx     // the caller's transaction; nil means that the store's connections are used
	Revealed bool           // results include encrypted values and the fields that kinds mark as sensitive
	Errors   bool           // results include the errors and stacks of attempts that are encrypted
	Cipher   *cipher.Cipher // encrypts the payloads, results, progress and errors of jobs; nil for none
	Searches *Exclusive     // lets the searches of all clients of a store run one after another
}

// Now returns the time of the clock for leases and due times.
func (s *Scope) Now() time.Time { return s.Store.Now() }

// Read runs fn on the connections for inspection, or in the caller's transaction.
func (s *Scope) Read(ctx context.Context, fn Func) error {
	if s.Tx != nil {
		return s.Join(ctx, fn)
	}
	if err := s.CheckOutside(ctx); err != nil {
		return err
	}
	return s.Store.Inspect(ctx, fn)
}

// ReadAsRunner runs fn on the connections for runners, or in the caller's transaction.
func (s *Scope) ReadAsRunner(ctx context.Context, fn Func) error {
	if s.Tx != nil {
		return s.Join(ctx, fn)
	}
	return s.Store.Read(ctx, fn)
}

// ReadBeside runs fn on the connections for runners, or in the caller's transaction unless that must not begin with a read. fn reads a
// few rows that no transaction which enqueues jobs changes, see [Quick].
func (s *Scope) ReadBeside(ctx context.Context, fn Func) error {
	if s.Tx != nil {
		if _, writes := s.Tx.(WritesFirst); !writes {
			return s.Join(ctx, fn)
		}
	} else if err := s.CheckOutside(ctx); err != nil {
		return err
	}
	return s.Store.Read(Quick(ctx), fn)
}

// WritesFirst is implemented by a transaction that may fail when it reads before its first write. Its store has separate connections for
// reads.
type WritesFirst interface{ WritesFirst() }

// Join runs fn in the caller's transaction.
func (s *Scope) Join(ctx context.Context, fn Func) error {
	q, err := s.Store.Transactions().Join(s.Tx)
	if err != nil {
		return err
	}
	return fn(ctx, q)
}

// Write runs fn in a transaction and announces the signals. The store may run fn more than once.
//
// In the caller's transaction the caller's commit announces them. When fn fails there, its statements are undone and the
// rest of the transaction stays, because the caller may still commit it.
func (s *Scope) Write(ctx context.Context, signals core.Signal, fn Func) error {
	return s.WriteQueue(ctx, signals, "", fn)
}

// WriteQueue is Write for a function that changes one queue, or all when queue is empty.
func (s *Scope) WriteQueue(ctx context.Context, signals core.Signal, queue string, fn Func) error {
	if s.Tx != nil {
		return Savepoint(ctx, s.Tx, func() error { return s.join(ctx, signals, queue, fn) })
	}
	if err := s.CheckOutside(ctx); err != nil {
		return err
	}
	if err := s.Store.Write(ctx, fn); err != nil {
		return err
	}
	if signals != 0 {
		s.Store.Announce(signals)
	}
	return nil
}

// InsertWith runs fn in a transaction and announces new work in the queue, if fn inserted jobs. The store may run fn more than once.
// In the caller's transaction the caller's commit announces the work; when fn fails there, its statements are undone if undo is set:
// a function of one statement has done nothing then.
func (s *Scope) InsertWith(ctx context.Context, queue string, undo bool, fn InsertFunc) error {
	if s.Tx == nil {
		if err := s.CheckOutside(ctx); err != nil {
			return err
		}
		return s.Store.InsertWith(ctx, queue, fn)
	}
	insert := func() error {
		return s.join(ctx, core.WorkReady, queue, func(ctx context.Context, q db.Querier) error {
			_, err := fn(ctx, q)
			return err
		})
	}
	if undo {
		return Savepoint(ctx, s.Tx, insert)
	}
	return insert()
}

// join runs fn, which changes jobs, in the caller's transaction, whose commit announces the signals.
func (s *Scope) join(ctx context.Context, signals core.Signal, queue string, fn Func) error {
	q, err := s.Store.Transactions().Join(s.Tx)
	if err != nil {
		return err
	}
	if err := s.Store.Transactions().AnnounceCommit(ctx, s.Tx, signals, queue); err != nil {
		return err
	}
	return fn(ctx, q)
}

// Savepoint runs fn, and undoes its statements when it returns an error. The transaction is then as it was before, unless the
// database has ended it. The rollback may run for a moment after the end of ctx.
func Savepoint(ctx context.Context, tx jobtype.Tx, fn func() error) error {
	if err := tx.Savepoint(ctx, "savepoint"); err != nil {
		return err
	}
	err := fn()
	end := []string{"release"}
	if err != nil {
		end = []string{"rollback_to", "release"}
	}
	ending, cancel := core.Linger(ctx)
	defer cancel()
	for _, statement := range end {
		if failed := tx.Savepoint(ending, statement); failed != nil {
			return errors.Join(err, failed)
		}
	}
	return err
}
