package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// tally counts the attempts of a worker for its progress line.
type tally struct {
	progress *progress
	began    time.Time
	running  atomic.Int64
	done     atomic.Int64
	failed   atomic.Int64 // failed attempts, except attempts that a stop ended or that could not start
}

func newTally(p *progress) *tally { return &tally{progress: p, began: time.Now()} }

// around counts the runs of a handler and logs successful ones; the runner logs the others.
func (t *tally) around(h jobs.Handler[json.RawMessage], log *slog.Logger) jobs.Handler[json.RawMessage] {
	return func(ctx context.Context, job jobs.Job, payload json.RawMessage) error {
		started := time.Now()
		t.running.Add(1)
		err := h(ctx, job, payload)
		t.running.Add(-1)
		if err != nil {
			if fate := jobs.FateOf(err); !errors.Is(context.Cause(ctx), jobs.ErrStopping) && fate != jobs.FateSnoozed && fate != jobs.FateUnable {
				t.failed.Add(1)
			}
			return err
		}
		t.done.Add(1)
		log.Info("job done", "job", job.ID, "kind", job.Kind, "queue", job.Queue, "attempt", job.Attempt, "took", time.Since(started).Round(time.Millisecond))
		return nil
	}
}

func (t *tally) line() string {
	done := t.done.Load()
	return fmt.Sprintf("running %d, done %d, failed attempts %d, %.1f/s", t.running.Load(), done, t.failed.Load(),
		float64(done)/time.Since(t.began).Seconds())
}

// keepShowing draws the progress line until stop, which also removes it.
func (t *tally) keepShowing() (stop func()) {
	if !t.progress.terminal {
		return func() {}
	}
	ended, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		ticker := time.NewTicker(2 * redraw)
		defer ticker.Stop()
		for {
			t.progress.force(t.line())
			select {
			case <-ticker.C:
			case <-ended:
				return
			}
		}
	}()
	return func() {
		close(ended)
		<-gone
		t.progress.clear()
	}
}
