package model

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	port "github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/prune"
	"github.com/sqluice/sqluice/jobs"
)

// engine is a database that is compared with the model, with its mapping of the model's ids.
type engine struct {
	name   string
	clock  *clock
	store  port.Store // by that clock
	client *jobs.Client
	keys   keyring
	clear  func(context.Context) error // removes all rows

	// begins are the ways in which an application can begin its transactions.
	begins []func(context.Context) (transaction, error)

	// open opens the database, as a process does at its start.
	open func(context.Context) (jobs.Store, error)

	// another says that steps need a store like that of another process.
	another bool

	// unlocked waits until a released lock is free. nil when it is free at once.
	unlocked func(ctx context.Context, key string) error

	seen          view // at the last look
	jobs, workers *ids
	locks         map[int64]workerLock // of workers that the test plays, by the model's ids
	retention     *prune.JobPruner     // of the process that the test plays
}

type transaction interface {
	jobs.Tx
	Commit() error
	Rollback() error
}

// sqlBegin begins transactions of database/sql.
func sqlBegin(pool *sql.DB, join func(*sql.Tx) jobs.Tx) func(context.Context) (transaction, error) {
	return func(ctx context.Context) (transaction, error) {
		tx, err := pool.BeginTx(ctx, nil)
		if err != nil {
			return nil, err
		}
		return sqlTx{join(tx), tx}, nil
	}
}

type sqlTx struct {
	jobs.Tx
	tx *sql.Tx
}

func (t sqlTx) Commit() error   { return t.tx.Commit() }
func (t sqlTx) Rollback() error { return t.tx.Rollback() }

type workerLock struct {
	key     string
	release func(ended bool) error
}

// begin opens the database. The store is closed with the test.
func (e *engine) begin(t *testing.T) {
	store, err := e.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	e.store = clocked{port.StoreOf(store), e.clock}
	t.Cleanup(func() {
		if err := e.store.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := jobs.New(port.SealStore(e.store)).Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// restart ends the process that the test plays, with the locks of all its workers, and starts another one.
func (e *engine) restart(ctx context.Context) error {
	for id := range e.locks {
		if err := e.releaseLock(ctx, id, false); err != nil {
			return err
		}
	}
	if err := e.store.Close(); err != nil {
		return err
	}
	store, err := e.open(ctx)
	if err != nil {
		return err
	}
	e.store = clocked{port.StoreOf(store), e.clock}
	e.client = e.newClient(e.store)
	return nil
}

// newClient returns a client that encrypts and decrypts with the keys of the sequence.
func (e *engine) newClient(store port.Store) *jobs.Client {
	return jobs.New(port.SealStore(store), jobs.WithCipher(e.keys.client)).Revealed()
}

// statements returns those of a file in testdata.
func statements(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// reset makes the database as good as new, except for its next ids.
func (e *engine) reset(ctx context.Context) error {
	e.client, e.seen = e.newClient(e.store), view{}
	e.jobs, e.workers, e.locks = newIDs(), newIDs(), map[int64]workerLock{}
	return e.clear(ctx)
}

// clock is the clock of all engines and the model. Runners read it from their goroutines.
type clock struct {
	micros  atomic.Int64
	process atomic.Int64 // how long the processes have lived: no person can set it
}

// sinceStart returns the time of the processes' clock.
func (c *clock) sinceStart() time.Time { return start.Add(time.Duration(c.process.Load())) }

func (c *clock) now() time.Time { return time.UnixMicro(c.micros.Load()).UTC() }

func (c *clock) set(t time.Time) { c.micros.Store(t.UnixMicro()) }

// clocked is a store whose clock is the test's.
type clocked struct {
	port.Store
	clock *clock
}

func (c clocked) Now() time.Time { return c.clock.now() }

func (c clocked) NowWithin(context.Context) time.Time { return c.clock.now() }

// ids maps the model's ids of a table to an engine's. A sequence may have holes where the model has none.
type ids struct {
	theirs map[int64]int64
	ours   map[int64]int64
	last   int64
}

func newIDs() *ids { return &ids{theirs: map[int64]int64{}, ours: map[int64]int64{}} }

// learn records the engine's id of a new row, and reports whether it is above all before it, as required.
func (i *ids) learn(ours, theirs int64) bool {
	rises := theirs > i.last
	i.theirs[ours], i.ours[theirs], i.last = theirs, ours, theirs
	return rises
}

// forget makes the ids above one unknown, whose rows were rolled back.
func (i *ids) forget(last int64) {
	for ours, theirs := range i.theirs {
		if ours > last {
			delete(i.theirs, ours)
			delete(i.ours, theirs)
		}
	}
	i.last = i.theirs[last]
}

// to returns the engine's id; an id that the model never gave maps to one that the engine has not given either.
func (i *ids) to(ours int64) int64 {
	if theirs, ok := i.theirs[ours]; ok || ours == 0 {
		return theirs
	}
	return 1<<40 + ours
}

// from returns the model's id; an unknown id is negative, so that it differs from all known ones.
func (i *ids) from(theirs int64) int64 {
	if ours, ok := i.ours[theirs]; ok || theirs == 0 {
		return ours
	}
	return -theirs
}

// releaseLock releases the lock of a worker that the test plays, if it holds one.
func (e *engine) releaseLock(ctx context.Context, worker int64, ended bool) error {
	lock, held := e.locks[worker]
	if !held {
		return nil
	}
	delete(e.locks, worker)
	if err := lock.release(ended); err != nil || ended || e.unlocked == nil {
		return err
	}
	return e.unlocked(ctx, lock.key)
}

// elsewhere runs a function on a store like that of another process, with the test's clock.
func (e *engine) elsewhere(ctx context.Context, do func(port.Store) error) error {
	if !e.another {
		return do(e.store)
	}
	store, err := e.open(ctx)
	if err != nil {
		return err
	}
	return errors.Join(do(clocked{port.StoreOf(store), e.clock}), store.Close())
}

// job returns an engine's job with the model's ids.
func (e *engine) job(j jobs.Job) jobs.Job {
	j.ID, j.WorkerID = e.jobs.from(j.ID), e.workers.from(j.WorkerID)
	return j
}

func (e *engine) jobList(list []jobs.Job, err error) ([]jobs.Job, error) {
	for i := range list {
		list[i] = e.job(list[i])
	}
	return list, err
}
