package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// goQueue is a peer written in Go, opened by a worker process: the methods that the roles below need.
type goQueue interface {
	add(ctx context.Context, a args) error
	// addMany adds jobs in the fastest documented way that is as durable.
	addMany(ctx context.Context, list []args) error
	// work starts workers with the given number of slots, which call handle for each job. It returns a function that stops them.
	work(slots int, handle func(context.Context, args) error) (stop func() error, err error)
	// unfinished reports whether any process has a job left that has not run, or is not recorded as done.
	unfinished(ctx context.Context) (bool, error)
	close() error
}

// goPeer opens a peer, with its schema in place. The peer must report what it logs as an error to the mishaps.
type goPeer func(ctx context.Context, t task, f *mishaps) (goQueue, error)

func (open goPeer) roles() map[string]role {
	return map[string]role{
		roleBulk: open.bulk, roleInsert: open.insert, rolePaced: open.paced,
		roleDrain: open.drain, roleWork: open.work, roleLatency: open.latency, roleIdle: open.idle,
	}
}

// with opens the peer for fn, and closes it after.
func (open goPeer) with(ctx context.Context, t task, fn func(goQueue, *mishaps) (report, error)) (report, error) {
	var f mishaps
	q, err := open(ctx, t, &f)
	if err != nil {
		return report{}, err
	}
	r, err := fn(q, &f)
	err = errors.Join(err, q.close())
	f.addTo(&r)
	return r, err
}

func (open goPeer) bulk(ctx context.Context, t task, p *parent) (report, error) {
	return open.with(ctx, t, func(q goQueue, _ *mishaps) (report, error) {
		list := payloads(0, t.Jobs, t.Size)
		return p.measure(func() (report, error) { return report{}, q.addMany(ctx, list) })
	})
}

func (open goPeer) insert(ctx context.Context, t task, p *parent) (report, error) {
	return open.with(ctx, t, func(q goQueue, f *mishaps) (report, error) {
		return p.measure(func() (report, error) {
			return report{}, byCallers(t.Callers, t.Jobs, func(i int) error {
				f.addError(q.add(ctx, payload(i, t.Size)))
				return ctx.Err()
			})
		})
	})
}

func (open goPeer) paced(ctx context.Context, t task, p *parent) (report, error) {
	return open.with(ctx, t, func(q goQueue, f *mishaps) (report, error) {
		return p.measure(func() (report, error) {
			sent, err := paceWith(ctx, t, q, f)
			return report{Sent: sent}, err
		})
	})
}

// paceWith continues after a failed insert: the count then misses its job.
func paceWith(ctx context.Context, t task, q goQueue, f *mishaps) ([]int64, error) {
	return pace(ctx, t, func(from, to int) error {
		if to == from+1 {
			f.addError(q.add(ctx, payload(from, t.Size)))
		} else {
			f.addError(q.addMany(ctx, payloads(from, to, t.Size)))
		}
		return nil
	})
}

func (open goPeer) drain(ctx context.Context, t task, p *parent) (report, error) {
	return open.with(ctx, t, func(q goQueue, f *mishaps) (report, error) {
		log := newJournal(t.Jobs)
		var stop func() error
		r, err := p.measure(func() (r report, err error) {
			if stop, err = q.work(t.Concurrency, log.handler(t.Hold)); err != nil {
				return report{}, err
			}
			r.Stalled, err = drained(ctx, q, log, f)
			return r, err
		})
		if stop != nil {
			f.stop(stop)
		}
		r.Begun = log.starts()
		return r, err
	})
}

func (open goPeer) work(ctx context.Context, t task, p *parent) (report, error) {
	return open.working(ctx, t, p, func(_ goQueue, _ *mishaps, log *journal) ([]int64, error) {
		return nil, log.wait(ctx)
	})
}

func (open goPeer) latency(ctx context.Context, t task, p *parent) (report, error) {
	return open.working(ctx, t, p, func(q goQueue, f *mishaps, log *journal) ([]int64, error) {
		sent, err := paceWith(ctx, t, q, f)
		if err == nil {
			err = log.wait(ctx)
		}
		return sent, err
	})
}

func (open goPeer) idle(ctx context.Context, t task, p *parent) (report, error) {
	return open.working(ctx, t, p, func(goQueue, *mishaps, *journal) ([]int64, error) {
		return nil, simulateWork(ctx, t.For)
	})
}

// working runs workers, which have settled before the process is ready, while fn runs.
func (open goPeer) working(ctx context.Context, t task, p *parent, fn func(goQueue, *mishaps, *journal) ([]int64, error)) (report, error) {
	return open.with(ctx, t, func(q goQueue, f *mishaps) (report, error) {
		log := newJournal(t.Jobs)
		stop, err := q.work(t.Concurrency, log.handler(t.Hold))
		if err != nil {
			return report{}, err
		}
		if err := simulateWork(ctx, restBeforeIdle); err != nil {
			return report{}, errors.Join(err, stop())
		}
		r, err := p.measure(func() (report, error) {
			sent, err := fn(q, f, log)
			return report{Sent: sent}, err
		})
		f.stop(stop)
		r.Begun = log.starts()
		return r, err
	})
}

// handler records the start of a job, and takes its time.
func (l *journal) handler(d time.Duration) func(context.Context, args) error {
	return func(ctx context.Context, a args) error {
		l.start(a.N)
		return simulateWork(ctx, d)
	}
}

// stopWithin bounds the stop of workers.
const stopWithin = 10 * time.Second

const (
	// lookEvery is the interval of checks for a drain's end. quietFor is the time without any start before a check:
	// checks must not compete with the work.
	lookEvery = 5 * time.Millisecond
	quietFor  = 5 * time.Millisecond
	// drainFor is the limit of a drain, so that a slow peer's figures cover its work until then.
	drainFor = 150 * time.Second
)

// drained waits until no unfinished job is left. It gives up jobs that do not come, and returns the time that it waited
// for them: the harness reports them as missing.
func drained(ctx context.Context, q goQueue, log *journal, f *mishaps) (stalled time.Duration, err error) {
	begin := time.Now()
	changed, seen := begin, -1
	for {
		now := time.Now()
		if n := log.count(); n != seen {
			seen, changed = n, now
		} else if now.Sub(changed) >= quietFor {
			left, err := q.unfinished(ctx)
			if err != nil || !left {
				return 0, err
			}
			if waited := now.Sub(changed); waited > lastStart {
				f.add(fmt.Sprintf("a job is unfinished, and none has started for %s", lastStart))
				return waited, nil
			}
		}
		if now.Sub(begin) > drainFor {
			f.add(fmt.Sprintf("the queue was not empty after %s", drainFor))
			return 0, nil
		}
		if err := simulateWork(ctx, lookEvery); err != nil {
			return 0, err
		}
	}
}
