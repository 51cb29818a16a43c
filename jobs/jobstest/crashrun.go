package jobstest

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
)

// CrashRun is one run of [Crash]: a new queue and its application. Handlers enqueue by its Client and open databases by DB and OpenDB, so
// that these calls are points at which they are killed.
type CrashRun struct {
	*Queue
	folder string

	mu      sync.Mutex
	current *process
	conns   map[*conn]bool
	pools   []*sql.DB
	txs     map[*ownTx]bool
	killed  []killedProcess
}

// killedProcess is a killed process, with the result of its runner.
type killedProcess struct {
	process *process
	ended   <-chan error
	stop    context.CancelFunc
}

func newCrashRun(tb testing.TB, folder string, o options) *CrashRun {
	tb.Helper()
	r := &CrashRun{folder: folder, conns: map[*conn]bool{}, txs: map[*ownTx]bool{}}
	r.current = newProcess(-1, r.undo)
	r.Queue = newQueue(tb, filepath.Join(folder, "jobs.db"), o, func(s engine.Store) engine.Store {
		return watched{clocked: s.(clocked), run: r}
	})
	return r
}

// Dir returns a folder that is removed at the end of the run.
func (r *CrashRun) Dir() string { return r.folder }

// DB opens the queue's file as the application, as [Queue.DB] does. It is closed at the end of the run.
func (r *CrashRun) DB() *sql.DB {
	r.tb.Helper()
	return r.OpenDB("sqlite", dsn(r.Path()))
}

// OpenDB opens a database as sql.Open does, by any driver. Each of its statements and commits is a point. It is closed at the end of the
// run. Queries return when all their rows are read, without further result sets.
func (r *CrashRun) OpenDB(driverName, dsn string) *sql.DB {
	r.tb.Helper()
	c, err := newConnector(r, driverName, dsn)
	if err != nil {
		r.tb.Fatalf("jobstest: open a database: %v", err)
	}
	db := sql.OpenDB(c)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pools = append(r.pools, db)
	return db
}

// process returns the process that a context belongs to, or the living one.
func (r *CrashRun) process(ctx context.Context) *process {
	if p, ok := ctx.Value(processKey{}).(*process); ok {
		return p
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.current
}

func (r *CrashRun) setProcess(p *process) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.current = p
}

func (r *CrashRun) track(c *conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conns[c] = true
}

func (r *CrashRun) untrack(c *conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.conns, c)
}

// undo undoes the open work of a killed process: it ends its transactions and connections.
func (r *CrashRun) undo() (err error) {
	r.mu.Lock()
	conns, txs := r.conns, r.txs
	r.conns, r.txs = map[*conn]bool{}, map[*ownTx]bool{}
	for _, pool := range r.pools {
		// The stopped goroutines hold connections, which the pool counts.
		if s := pool.Stats(); s.MaxOpenConnections > 0 {
			pool.SetMaxOpenConns(s.MaxOpenConnections + s.InUse)
		}
	}
	r.mu.Unlock()
	for tx := range txs {
		err = errors.Join(err, tx.OwnTx.Rollback(context.Background()))
	}
	for _, wait := range []bool{false, true} { // a connection in use may wait for the transaction of another
		for c := range conns {
			if done, fault := c.die(wait); done {
				err = errors.Join(err, fault)
				delete(conns, c)
			}
		}
	}
	return err
}

// close lets the killed processes return, without any further change, and closes all connections.
func (r *CrashRun) close() (err error) {
	gone := newProcess(-1, nil)
	gone.dead = true
	close(gone.released)
	r.setProcess(gone)
	for _, g := range r.killed {
		g.stop()
		close(g.process.released)
	}
	for _, g := range r.killed {
		if fault := <-g.ended; fault != nil && !errors.Is(fault, jobs.ErrClosed) && !errors.Is(fault, context.Canceled) {
			err = errors.Join(err, fault)
		}
	}
	r.mu.Lock()
	pools := r.pools
	r.mu.Unlock()
	for _, pool := range pools {
		err = errors.Join(err, pool.Close())
	}
	return errors.Join(err, r.store.Close(), os.RemoveAll(r.folder))
}

// watched is the store of the run's client: its writes are points.
type watched struct {
	clocked
	run *CrashRun
}

func (s watched) Insert(ctx context.Context, in engine.Insert) (ids []int64, err error) {
	err = s.run.process(ctx).around("an enqueue of "+in.Job.Kind, func() (err error) {
		ids, err = s.Store.Insert(ctx, in)
		return err
	})
	return ids, err
}

func (s watched) InsertWith(ctx context.Context, queue string, fn engine.InsertFunc) error {
	return s.run.process(ctx).around("an enqueue", func() error { return s.Store.InsertWith(ctx, queue, fn) })
}

func (s watched) Write(ctx context.Context, fn engine.Func) error {
	return s.run.process(ctx).around("a write of the client", func() error { return s.Store.Write(ctx, fn) })
}

func (s watched) Transactions() engine.Transactions {
	return watchedTransactions{s.Store.Transactions(), s.run}
}

// watchedTransactions begins transactions whose commits are points.
type watchedTransactions struct {
	engine.Transactions
	run *CrashRun
}

func (t watchedTransactions) BeginOwn(ctx context.Context) (engine.OwnTx, error) {
	if p := t.run.process(ctx); p.isDead() {
		return nil, p.point("begin")
	}
	tx, err := t.Transactions.BeginOwn(ctx)
	if err != nil {
		return nil, err
	}
	own := &ownTx{tx, t.run}
	t.run.mu.Lock()
	defer t.run.mu.Unlock()
	t.run.txs[own] = true
	return own, nil
}

// ownTx is a transaction of [jobs.Client.Tx] whose commit is a point.
type ownTx struct {
	engine.OwnTx
	run *CrashRun
}

// remove removes the transaction from the run, and reports whether it was still open.
func (t *ownTx) remove() bool {
	t.run.mu.Lock()
	defer t.run.mu.Unlock()
	open := t.run.txs[t]
	delete(t.run.txs, t)
	return open
}

func (t *ownTx) Commit(ctx context.Context) error {
	return t.run.process(ctx).around("the commit of Client.Tx", func() error {
		t.remove()
		return t.OwnTx.Commit(ctx)
	})
}

func (t *ownTx) Rollback(ctx context.Context) error {
	if !t.remove() {
		return nil
	}
	return t.OwnTx.Rollback(ctx)
}
