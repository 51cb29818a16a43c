package jobstest

import (
	"context"
	"errors"
	"sync"

	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// errKilled is the error of calls in a killed process, once its run is over.
var errKilled = errors.New("jobstest: the process of this handler was killed")

// process simulates a process for [Crash]: a runner with its handler. It passes points, and may be killed at one of them: then its open
// work is undone, and each of its goroutines stops at its next point until the run is over.
type process struct {
	killed   chan struct{} // closed when the process is killed
	released chan struct{} // closed when the run is over
	undo     func() error  // called when the process is killed
	fault    error         // result of undo; written before killed is closed

	mu             sync.Mutex
	at             int      // the number of the point at which to kill it, counted from 0; -1 for none
	running        bool     // a handler runs
	uncountedCalls int      // running calls whose statements are no points
	passed         []string // the points so far
	dead           bool
	release        []func() error // the functions that release worker locks; point calls them when the process dies
}

func newProcess(at int, undo func() error) *process {
	return &process{at: at, undo: undo, killed: make(chan struct{}), released: make(chan struct{})}
}

// point returns at once, unless the process is killed here or was before. Then it blocks until the run is over, and returns an error.
func (p *process) point(name string) error {
	dies := p.pass(name)
	if !dies && !p.isDead() {
		return nil
	}
	if dies {
		p.fault = p.undo()
		for _, release := range p.locks() {
			p.fault = errors.Join(p.fault, release())
		}
		close(p.killed)
	}
	<-p.released
	return errKilled
}

// pass records that a point is passed, and returns true at the one at which the process is killed.
func (p *process) pass(name string) (dies bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead || !p.running || p.uncountedCalls > 0 {
		return false
	}
	p.dead = len(p.passed) == p.at
	p.passed = append(p.passed, name)
	return p.dead
}

func (p *process) isDead() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dead
}

func (p *process) locks() []func() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.release
}

// points returns the passed points.
func (p *process) points() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.passed
}

// around runs a call between two points.
func (p *process) around(what string, call func() error) error {
	if err := p.point("before " + what); err != nil {
		return err
	}
	err := call()
	if killed := p.point("after " + what); killed != nil {
		return killed
	}
	return err
}

// quietly runs a call whose statements are no points.
func (p *process) quietly(call func() error) error {
	p.count(1)
	defer p.count(-1)
	return call()
}

func (p *process) count(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.uncountedCalls += n
}

func (p *process) setRunning(running bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = running
}

// processKey is the context key for the process that a handler runs in.
type processKey struct{}

// watch is the middleware by which the process tracks its handlers.
func (p *process) watch(next jobs.RunFunc) jobs.RunFunc {
	return func(ctx context.Context, job jobs.Job) error {
		p.setRunning(true)
		defer p.setRunning(false)
		job.SetHolder(holder{job.Holder(), p})
		err := next(context.WithValue(ctx, processKey{}, p), job)
		if killed := p.point("after the handler returned, before that is recorded"); killed != nil {
			return killed
		}
		return err
	}
}

// holder makes the calls of a handler's job points.
type holder struct {
	jobtype.Holder
	process *process
}

func (h holder) SetResult(v any) error {
	return h.process.around("SetResult", func() error { return h.Holder.SetResult(v) })
}

func (h holder) SetProgress(ctx context.Context, v any) error {
	return h.process.around("SetProgress", func() error { return h.Holder.SetProgress(ctx, v) })
}

func (h holder) CompleteTx(ctx context.Context, tx jobs.Tx, result any) error {
	return h.process.around("CompleteTx", func() error {
		return h.process.quietly(func() error { return h.Holder.CompleteTx(ctx, tx, result) })
	})
}

// processStore is the store of a process's runner: it refuses calls of a dead process, and the death frees the worker's lock.
type processStore struct {
	clocked
	process *process
}

// unlessDead makes a call, unless the process is dead: the error then ends the runner.
func (s processStore) unlessDead(call func() error) error {
	if s.process.isDead() {
		return jobs.ErrClosed
	}
	return call()
}

func (s processStore) Read(ctx context.Context, fn engine.Func) error {
	return s.unlessDead(func() error { return s.clocked.Read(ctx, fn) })
}

func (s processStore) Write(ctx context.Context, fn engine.Func) error {
	return s.unlessDead(func() error { return s.Store.Write(ctx, fn) })
}

func (s processStore) Exchange(ctx context.Context, p engine.Plan) (out engine.Outcome, err error) {
	err = s.unlessDead(func() (err error) {
		out, err = s.Store.Exchange(ctx, p)
		return err
	})
	return out, err
}

// WorkerLocks implements [engine.Store].
func (s processStore) WorkerLocks() engine.WorkerLocks { return processLocks{s.Store.WorkerLocks(), s} }

// processLocks holds the locks of a process's workers, until its death.
type processLocks struct {
	engine.WorkerLocks
	store processStore
}

// HoldWorkerLock implements [engine.WorkerLocks].
func (l processLocks) HoldWorkerLock(ctx context.Context) (key string, release func(ended bool) error, err error) {
	process := l.store.process
	key, unlock, err := l.WorkerLocks.HoldWorkerLock(ctx)
	if err != nil {
		return key, unlock, err
	}
	var once sync.Once
	release = func(ended bool) (err error) {
		once.Do(func() { err = unlock(ended && !process.isDead()) })
		return err
	}
	process.mu.Lock()
	defer process.mu.Unlock()
	process.release = append(process.release, func() error { return release(false) })
	return key, release, nil
}

// LeaveGoodbye implements [engine.WorkerLocks]. A process that was killed leaves none.
func (l processLocks) LeaveGoodbye(key string, worker int64) error {
	return l.store.unlessDead(func() error { return l.WorkerLocks.LeaveGoodbye(key, worker) })
}
