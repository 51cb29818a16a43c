package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"
)

// args is a payload: with the usual padding about 100 bytes.
type args struct {
	N   int    `json:"n"`
	Pad string `json:"pad"`
}

func payload(n, size int) args { return args{N: n, Pad: strings.Repeat("x", size)} }

// payloads returns the payloads with the numbers from to to-1.
func payloads(from, to, size int) []args {
	list := make([]args, to-from)
	pad := strings.Repeat("x", size)
	for i := range list {
		list[i] = args{N: from + i, Pad: pad}
	}
	return list
}

// byCallers lets callers add n jobs together, each one after the other. A caller ends at its first error.
func byCallers(callers, n int, add func(i int) error) error {
	errs := make([]error, callers)
	var group sync.WaitGroup
	for c := range callers {
		group.Go(func() {
			for i := c; i < n && errs[c] == nil; i += callers {
				errs[c] = add(i)
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// pace adds a task's jobs at its rate, and returns the time of sending for each, in nanoseconds of the machine's clock.
func pace(ctx context.Context, t task, add func(from, to int) error) ([]int64, error) {
	sent := make([]int64, 0, t.Jobs)
	err := paceOnly(ctx, t, func(from, to int) error {
		now := time.Now().UnixNano()
		for range to - from {
			sent = append(sent, now)
		}
		return add(from, to)
	})
	return sent, err
}

// paceOnly adds a task's jobs, from ... to-1 by one call, at its rate. It adds late jobs at once.
func paceOnly(ctx context.Context, t task, add func(from, to int) error) error {
	batch := max(1, t.Batch)
	begin := time.Now()
	for from := 0; from < t.Jobs; from += batch {
		due := begin.Add(time.Duration(float64(from) / t.Rate * float64(time.Second)))
		if wait := time.Until(due); wait > 0 {
			if err := simulateWork(ctx, wait); err != nil {
				return err
			}
		}
		if err := add(from, min(from+batch, t.Jobs)); err != nil {
			return err
		}
	}
	return nil
}

// lastStart is the time for which a worker process waits for the next job before it gives up the missing ones.
const lastStart = 20 * time.Second

// journal collects the starts of jobs in a worker process.
type journal struct {
	mu    sync.Mutex
	list  []jobStart
	most  int
	ended chan struct{} // closed when there are as many as the task demands
}

func newJournal(most int) *journal {
	return &journal{list: make([]jobStart, 0, most), most: most, ended: make(chan struct{})}
}

// start records that the handler of job n has begun.
func (l *journal) start(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, jobStart{N: n, At: time.Now().UnixNano()})
	if len(l.list) == l.most {
		close(l.ended)
	}
}

func (l *journal) starts() []jobStart {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.list)
}

func (l *journal) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.list)
}

// wait waits for the last start, or until none has come for lastStart: the harness then reports the missing ones.
func (l *journal) wait(ctx context.Context) error {
	for seen := -1; seen != l.count(); {
		seen = l.count()
		select {
		case <-l.ended:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lastStart):
		}
	}
	return nil
}

// simulateWork does the work of a handler.
func simulateWork(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return nil
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
