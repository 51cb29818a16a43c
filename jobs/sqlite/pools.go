package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
)

// pools holds the connections of a store and their prepared statements. Its methods may be called concurrently.
type pools struct {
	side    sideFolder
	files   *files
	suspect suspectWAL
	writer  *writer

	writeDB   *sql.DB
	readDB    *sql.DB
	inspectDB *sql.DB // for Inspect

	preparing chan struct{} // holds a value while a caller prepares the statements

	mu          sync.RWMutex // guards the fields below
	closed      bool
	reads       *reads // nil until the schema was found to be right
	inspections *reads // nil when reads is
}

// inspectionConnections returns the number of connections that Inspect uses at once. SQLite computes in this process: one
// processor remains for the runners.
func inspectionConnections() int { return min(max(1, runtime.GOMAXPROCS(0)-1), 4) }

// openPools opens the pools of a store: all of them or none.
func openPools(path string, o options) (p *pools, err error) {
	p = &pools{preparing: make(chan struct{}, 1)}
	if p.writeDB, err = openPool(path, o, false); err != nil {
		return nil, err
	}
	o.mustExist = true // only the writer pool's first connection may create a file
	if p.readDB, err = openPool(path, o, true); err != nil {
		return nil, errors.Join(err, p.writeDB.Close())
	}
	if p.inspectDB, err = openPool(path, o, true); err != nil {
		return nil, errors.Join(err, p.readDB.Close(), p.writeDB.Close())
	}
	p.inspectDB.SetMaxOpenConns(inspectionConnections())
	return p, nil
}

// read runs fn on the statements that choose returns while mu is held.
func (p *pools) read(ctx context.Context, choose func() *reads, fn func(context.Context, db.Querier) error) error {
	for {
		if err := p.ready(ctx); err != nil {
			return err
		}
		if err := p.files.intact(); err != nil {
			return err
		}
		p.mu.RLock()
		reads := choose()
		if reads != nil {
			reads.users.Add(1)
		}
		p.mu.RUnlock()
		if reads != nil { // otherwise a migration dropped the statements since the check of the schema
			defer reads.users.Done()
			return core.EndFirst(ctx, p.suspect.name(translate(fn(ctx, reads))))
		}
	}
}

// readByWriter runs fn on the writer's connection while that is idle, as [engine.ReadByWriter] says.
func (p *pools) readByWriter(ctx context.Context, fn engine.Func) (done bool, err error) {
	if err := p.ready(ctx); err != nil {
		return true, err
	}
	done, err = p.writer.idle(func(w *writes) error { return fn(context.WithValue(ctx, readsByWriter{}, p), w) })
	return done, core.EndFirst(ctx, p.suspect.name(translate(err)))
}

// readsByWriter is the context key for the pools that run a function by readByWriter.
type readsByWriter struct{}

// errInRead stops a function that reads from waiting for its own end.
var errInRead = errors.New("a function that reads by the writer's connection uses the store")

// write runs a write, together with the waiting writes of other callers of this process.
func (p *pools) write(ctx context.Context, w *write) error {
	for {
		if err := p.ready(ctx); err != nil {
			return err
		}
		if err := p.writer.groups.Do(ctx, w); !errors.Is(err, errNotPrepared) || errors.Is(err, jobs.ErrUnknownOutcome) {
			return core.EndFirst(ctx, p.suspect.name(err))
		}
	}
}

// ready checks the schema at first use: statements are prepared only on a schema that they fit.
func (p *pools) ready(ctx context.Context) error {
	if ctx.Value(readsByWriter{}) == p {
		return errInRead
	}
	if ready, err := p.isReady(); ready || err != nil {
		return err
	}
	select { // not mu, whose Lock ignores the end of ctx
	case p.preparing <- struct{}{}:
		defer func() { <-p.preparing }()
	case <-ctx.Done():
		return core.EndOf(ctx)
	}
	return core.EndFirst(ctx, p.prepare(ctx))
}

// isReady reports whether the statements are prepared. Its error says that the store is closed.
func (p *pools) isReady() (bool, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.closed {
		return false, jobs.ErrClosed
	}
	return p.reads != nil, nil
}

// prepare prepares the statements, unless another caller has. The caller holds preparing.
func (p *pools) prepare(ctx context.Context) error {
	if ready, err := p.isReady(); ready || err != nil {
		return err
	}
	found, err := schemaOf(ctx, p.writeDB) // a program that only writes needs no other connection
	if err != nil {
		return err
	}
	if err := found.Check(); err != nil {
		return err
	}
	if err := turnWALOn(ctx, p.writeDB, p.side); err != nil {
		return err
	}
	if err := p.files.findBeside(); err != nil {
		return err
	}
	writes, err := prepareWrites(ctx, p.writeDB)
	if err != nil {
		return fmt.Errorf("prepare statements: %w", p.suspect.name(translate(err)))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return errors.Join(jobs.ErrClosed, writes.Close())
	}
	p.writer.use(writes)
	p.reads, p.inspections = newReads(p.readDB), newReads(p.inspectDB)
	return nil
}

// forget drops the prepared statements, so that the next use checks the schema again.
func (p *pools) forget() error {
	p.mu.Lock()
	reads, inspections := p.reads, p.inspections
	if reads == nil {
		p.mu.Unlock()
		return nil
	}
	p.reads, p.inspections = nil, nil
	p.mu.Unlock()
	// Not under mu: a long running read or write must not delay other uses of the store.
	return errors.Join(p.writer.use(nil).Close(), reads.close(), inspections.close())
}

// beginClose makes later uses fail. It returns false if it was called before.
func (p *pools) beginClose() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.closed = true
	return true
}

// close drops the statements and closes the connections.
func (p *pools) close() error { return errors.Join(p.forget(), p.closeDB()) }

func (p *pools) closeDB() error {
	return errors.Join(p.inspectDB.Close(), p.readDB.Close(), p.writeDB.Close())
}
